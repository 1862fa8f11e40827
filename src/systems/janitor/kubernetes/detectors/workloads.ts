import type { StoredObject } from '../../../../kube/object.ts'
import { nextCronTime, scheduleFault } from '../../../../kube/calendar/cron.ts'
import { parseTime } from '../../../../kube/time.ts'
import { unknownUse, unused, used, type Use } from '../../model/resource.ts'
import {
  kindAndName,
  unlessCustomUse,
  namespacedName,
  type Detector,
  type ClusterView,
} from '../references/detector.ts'
import { scaleTargetOf, wakes } from './network.ts'

/** Deployments and their like: unused at zero replicas, unless something is there to wake them. */
export const scaledDetector: Detector = {
  kinds: ['Deployment.apps', 'StatefulSet.apps', 'ReplicationController'],
  needs: ['services', 'autoscalers'],
  prepare(cluster) {
    const wakers = wakersIn(cluster)
    const scalers = scalersFromZero(cluster)
    return (object) => {
      const { name, namespace, annotations = {}, labels = {} } = object.metadata
      const { replicas = 1 } = object.spec as { replicas?: number }
      if (replicas > 0) return used(`${replicas} replicas`)
      const place = namespacedName(namespace, name)
      const by =
        wakers.get(place) ??
        scalers.get(`${object.kind}:${place}`) ??
        [...Object.keys(annotations), ...Object.keys(labels)].find((key) => sleeps.test(key))
      return by ? used(by) : unlessCustomUse(cluster.customUse(name), 'it is scaled to zero')
    }
  },
}

/** What tools that put workloads to sleep write on them, so as to wake them again. */
const sleeps =
  /^sojourn\.dev\/(?:asleep-since|former-replicas)$|original-replicas|previous-replicas|^downscaler\/|^sablier\.|^idle\.openshift\.io\/|^idling\./

/** Autoscalers that may start from nothing, by what they scale. */
function scalersFromZero(cluster: ClusterView): ReadonlyMap<string, string> {
  const scalers = new Map<string, string>()
  for (const scaler of cluster.list('autoscalers')) {
    if ((scaler.spec as { minReplicas?: number } | undefined)?.minReplicas !== 0) continue
    const { kind = '', name = '' } = scaleTargetOf(scaler)
    scalers.set(`${kind}:${namespacedName(scaler.metadata.namespace, name)}`, kindAndName(scaler))
  }
  return scalers
}

/** Services that wake a Deployment on a request: a sleeping Deployment behind one is in use. */
export function wakersIn(cluster: ClusterView): ReadonlyMap<string, string> {
  const wakers = new Map<string, string>()
  for (const service of cluster.list('services')) {
    const { annotations = {}, namespace } = service.metadata
    for (const [key, value] of Object.entries(annotations).filter(([each]) => wakes(each)))
      for (const target of key.startsWith('proxless/') ? [value] : value.split(','))
        wakers.set(namespacedName(namespace, target.split('/').at(-1)?.trim() ?? ''), kindAndName(service))
  }
  return wakers
}

/** ReplicaSets: unused when at zero and no longer their Deployment's current one. What others own, they may need again. */
export const replicaSetDetector: Detector = {
  kinds: ['ReplicaSet.apps'],
  needs: ['deployments'],
  prepare(cluster) {
    const deployments = new Map(cluster.list('deployments').map((object) => [object.metadata.uid, object]))
    return ({ metadata, spec, status }) => {
      const wanted = (spec as { replicas?: number }).replicas ?? 1
      const running = ((status ?? {}) as { replicas?: number }).replicas ?? 0
      if (wanted > 0 || running > 0) return used(`${Math.max(wanted, running)} replicas`)
      const owner = metadata.ownerReferences
        ?.map(({ uid }) => deployments.get(uid))
        .find((found) => found !== undefined)
      if (owner && revisionOf(owner) === revisionOf({ metadata })) return used(kindAndName(owner))
      const other = metadata.ownerReferences?.find(({ kind }) => kind !== 'Deployment')
      if (!owner && other) return unknownUse(`${other.kind} ${other.name} may need it again`)
      return unused(owner ? `${kindAndName(owner)} has a newer one` : 'it is scaled to zero')
    }
  },
}

function revisionOf({ metadata }: Pick<StoredObject, 'metadata'>): string | undefined {
  return metadata.annotations?.['deployment.kubernetes.io/revision']
}

/** DaemonSets: unused where no node wants them. */
export const daemonSetDetector: Detector = {
  kinds: ['DaemonSet.apps'],
  needs: [],
  prepare:
    () =>
    ({ status, metadata }) => {
      const { desiredNumberScheduled, observedGeneration } = (status ?? {}) as {
        desiredNumberScheduled?: number
        observedGeneration?: number
      }
      if (desiredNumberScheduled === undefined || observedGeneration !== metadata.generation)
        return { state: 'unknown', because: 'its controller has not looked at it yet' }
      return desiredNumberScheduled > 0 ? used(`${desiredNumberScheduled} nodes`) : unused('no node wants it')
    },
}

/** Jobs: unused once finished, and it says since when. */
export const jobDetector: Detector = {
  kinds: ['Job.batch'],
  needs: [],
  prepare: () => (object) => finishedUse(object),
}

function finishedUse({ status }: StoredObject): Use {
  const { conditions = [], completionTime } = (status ?? {}) as {
    conditions?: { type: string; status: string; lastTransitionTime?: string }[]
    completionTime?: string
  }
  const finished = conditions.find(
    ({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed'),
  )
  if (!finished) return used('it has not finished')
  const says = finished.type === 'Complete' ? 'it is complete' : 'it failed'
  return unused(says, parseTime(completionTime) ?? parseTime(finished.lastTransitionTime))
}

/** Pods: unused once they have ended. */
export const podDetector: Detector = {
  kinds: ['Pod'],
  needs: [],
  prepare:
    () =>
    ({ status }) => {
      const { phase = 'Unknown' } = (status ?? {}) as { phase?: string }
      return phase === 'Succeeded' || phase === 'Failed'
        ? unused(`it has ${phase.toLowerCase()}`)
        : used(`its phase ${phase}`)
    },
}

/** CronJobs: in use by their schedule. Why one is suspended, and for how long, only its owner knows. */
export const cronJobDetector: Detector = {
  kinds: ['CronJob.batch'],
  needs: [],
  prepare:
    () =>
    ({ metadata, spec, status }) => {
      const { active = [] } = (status ?? {}) as { active?: readonly unknown[] }
      const { schedule = '', suspend } = spec as { schedule?: string; suspend?: boolean }
      if (active.length > 0) return used(`${active.length} running jobs`)
      const afterMs = parseTime(metadata.creationTimestamp) ?? 0
      if (scheduleFault(schedule) === undefined && nextCronTime(schedule, { afterMs, zone: 'UTC' }) === undefined)
        return unused(`its schedule ${schedule} never fires`)
      return suspend ? unknownUse('it is suspended, perhaps for a while') : used('its schedule')
    },
}
