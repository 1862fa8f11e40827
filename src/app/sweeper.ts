import type { ApiServer } from '../apiserver/server.ts'
import type { StoredObject } from '../kube/object.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Hand } from '../systems/collector/act.ts'

/** The server's own hand for the collector: check and delete are one decision there, and reading is looking. */
export function sweeper({ kinds, objects, store }: Pick<ApiServer, 'kinds' | 'objects' | 'store'>): Hand {
  return {
    read(type, { metadata }) {
      const served = kinds.find(type)
      const record =
        served && store.get({ resource: served.resource, namespace: metadata.namespace ?? '', name: metadata.name })
      return record && record.uid === metadata.uid ? (served.serve(record.document).value as StoredObject) : undefined
    },

    async recall(type, { metadata }) {
      const served = kinds.find(type)
      if (!served) return undefined
      const { resource } = served
      const { revision } = store
      // What was deleted carries the revision at which it was; of what was only heard of, the whole past that is left is gone through.
      const deletedAt = Number(metadata.resourceVersion || 0)
      const limit = deletedAt > 0 ? 1 : 500
      for (let after = deletedAt - 1; after < revision; await systemClock.breathe()) {
        const { events, reached } = store.changes({ resource, after: Math.max(after, store.compactedRevision), limit })
        const found = events.find((event) => event.type === 'delete' && event.uid === metadata.uid)
        if (found) return served.serve(found.document).value as StoredObject
        if (deletedAt > 0) return undefined
        after = reached
      }
      return undefined
    },

    remove(type, { metadata }, propagationPolicy) {
      const served = kinds.find(type)
      if (!served) return Promise.resolve('gone')
      const { name, namespace, uid, resourceVersion, ownerReferences = [] } = metadata
      const preconditions = { uid, resourceVersion }
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, preconditions }
      const request = { type: served, name, user: collectorUser, body, ...(namespace ? { namespace } : {}) }
      return objects.collect({ request, owners: ownerReferences })
    },
  }
}

const collectorUser = { name: 'sojourn:collector', groups: ['system:masters'] }
