import type { Client } from '../../client/client.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'
import { RecordKeyError, RecordKeys } from '../records/record-keys.ts'
import { manifestForCreate } from './manifest-for-create.ts'

/** An object as a restore creates it. */
export interface RestoredLine extends PageLine {
  /** The clusterIP that a Service had. */
  readonly clusterIP?: string
  /** Whether the manifest has the data of the Secret; otherwise why the encrypted data of the record could not be read, if it has any. */
  readonly data?: { readonly isOpen: true } | { readonly isOpen: false; readonly because: string }
}

/** Decrypts the data of Secrets in records with the caller's right to read the keys. What it may not read comes back without data. */
export class DataOpener {
  readonly #client: Client
  #keys: Promise<RecordKeys> | undefined

  constructor(client: Client) {
    this.#client = client
  }

  async open({ uid, manifest, sealed }: PageLine): Promise<RestoredLine> {
    const empty = { uid, manifest: manifestForCreate(manifest), ...addressIn(manifest) }
    if (!sealed) return empty
    try {
      const keys = await (this.#keys ??= RecordKeys.read(this.#client))
      const data = keys.open(sealed, { uid, manifest })
      return { uid, manifest: { ...manifest, data }, data: { isOpen: true } }
    } catch (error) {
      if (!(error instanceof RecordKeyError)) throw error
      return { ...empty, data: { isOpen: false, because: error.message } }
    }
  }
}

function addressIn({ apiVersion, kind, spec }: KubeObject): Pick<RestoredLine, 'clusterIP'> {
  const { clusterIP } = (spec ?? {}) as { readonly clusterIP?: string }
  return apiVersion === 'v1' && kind === 'Service' && clusterIP && clusterIP !== 'None' ? { clusterIP } : {}
}
