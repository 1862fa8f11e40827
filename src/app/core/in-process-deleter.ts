import { isBond } from '../../apis/bond-guard.ts'
import type { Together } from '../../apiserver/objects/delete/delete-together.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import type { View } from '../../apiserver/store/store.ts'
import type { EmbeddedAccess } from './instance.ts'
import { type StoredObject, placeOf } from '../../kube/object.ts'
import { canRecord, type DeleteTransaction, type Transact } from '../../departures/door/depart-together.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { InProcessDeleter } from '../../systems/collector/owners/dependent-deleter.ts'

/** Lets the collector and the cleaner ask and delete in the embedded server's store directly. */
export function embeddedAccess(server: Pick<ApiServer, 'kinds' | 'objects' | 'store'>): EmbeddedAccess {
  return {
    exists: (uid) => server.store.owners.addressOf(uid) !== undefined,
    inProcessDeleter: inProcessDeleter(server),
    transact: transactOn(server),
  }
}

/** Gives the collector direct access to the embedded server's store: owner check and delete share one transaction, and a read costs no request. */
export function inProcessDeleter({
  kinds,
  objects,
  store,
}: Pick<ApiServer, 'kinds' | 'objects' | 'store'>): InProcessDeleter {
  return {
    read(type, { metadata }) {
      const served = kinds.find(type)
      const record =
        served && store.get({ resource: served.resource, namespace: metadata.namespace ?? '', name: metadata.name })
      return record && record.uid === metadata.uid ? (served.serve(record.document).value as StoredObject) : undefined
    },

    remove(type, object, { propagation: propagationPolicy, cascadeRecord }) {
      const served = kinds.find(type)
      if (!served) return Promise.resolve('gone')
      const { name, namespace, uid, resourceVersion, ownerReferences: owners = [] } = object.metadata
      const preconditions = { uid, resourceVersion }
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, preconditions }
      const query = cascadeRecord === undefined ? {} : { cascadeRecord }
      const place = placeOf({ name, namespace })
      const request = { type: served, ...place, user: collectorUser, body, query }
      return objects.deleteIfUnowned({ request, owners, outlivesForeground: isBond(object) })
    },

    async endForeground(type, { metadata }, settled) {
      const served = kinds.find(type)
      const { name, namespace, uid, resourceVersion, finalizers = [] } = metadata
      const body = {
        metadata: { resourceVersion, finalizers: finalizers.filter((each) => each !== 'foregroundDeletion') },
      }
      const isRefused = (view: View) =>
        view.countBlocking(uid) > 0 &&
        view.dependentsOf(uid, maxDependents).some((each) => each.blocking && !settled.has(each.uid))
      const request = {
        ...placeOf({ name, namespace }),
        user: collectorUser,
        patchType: 'merge',
        body,
        isRefused,
      } as const
      if (served) await objects.patch({ type: served, ...request }).catch(ignoring('NotFound', 'Conflict'))
    },
  }
}

/** All of them: only an owner with blocking dependents that need not end first is looked at this closely. */
const maxDependents = Number.MAX_SAFE_INTEGER

/** Gives the cleaner transactions of the embedded server's store. */
export function transactOn({ kinds, objects }: Pick<ApiServer, 'kinds' | 'objects'>): Transact {
  return {
    isAtomic: true,
    run: async (work) => ({
      answer: await objects.deleteTogether((together) => work(stepsOf(together))),
      undone: none,
    }),
  }

  function stepsOf(together: Together): DeleteTransaction {
    const read: DeleteTransaction['read'] = (type, place) => {
      const served = kinds.find(type)
      return served && together.read(served, place)
    }
    return {
      read,
      canRecord: (object) => canRecord(read, object),
      attempt: (step) => together.attempt(step),
      remove(type, { metadata: { name, namespace, uid, resourceVersion } }) {
        const served = kinds.find(type)
        const request = { ...placeOf({ name, namespace }), user: cleanerUser }
        return served !== undefined && together.remove({ type: served, ...request }, { uid, resourceVersion })
      },
      put: (record) => together.put(record),
    }
  }
}

const none: ReadonlySet<number> = new Set()

const cleanerUser = { name: 'sojourn:cleaner', groups: ['system:masters'] }
const collectorUser = { name: 'sojourn:collector', groups: ['system:masters'] }
