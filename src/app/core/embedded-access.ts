import type { ApiServer } from '../../apiserver/server.ts'
import type { EmbeddedAccess } from './instance.ts'
import { inProcessDeleter, transactOn } from './in-process-deleter.ts'

/** Lets the collector and the cleaner ask and delete in the embedded server's store directly. */
export function embeddedAccess(server: Pick<ApiServer, 'kinds' | 'objects' | 'store'>): EmbeddedAccess {
  return {
    exists: (uid) => server.store.owners.addressOf(uid) !== undefined,
    inProcessDeleter: inProcessDeleter(server),
    transact: transactOn(server),
  }
}
