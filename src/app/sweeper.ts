import type { ApiServer } from '../apiserver/server.ts'
import type { Remove } from '../systems/collector/act.ts'

/** Deletes by the server's own hand: check and delete are one decision there. */
export function sweeper({ kinds, objects }: Pick<ApiServer, 'kinds' | 'objects'>): Remove {
  return (type, { metadata }, propagationPolicy) => {
    const served = kinds.find(type)
    if (!served) return Promise.resolve('gone')
    const { name, namespace, uid, resourceVersion, ownerReferences = [] } = metadata
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, preconditions: { uid, resourceVersion } }
    const request = { type: served, name, user: collectorUser, body, ...(namespace ? { namespace } : {}) }
    return objects.collect({ request, owners: ownerReferences })
  }
}

const collectorUser = { name: 'sojourn:collector', groups: ['system:masters'] }
