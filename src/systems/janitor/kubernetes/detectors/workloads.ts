import type { StoredObject } from '../../../../kube/object.ts'
import { parseTime } from '../../../../kube/time.ts'
import type { Use } from '../../resource.ts'
import { called, placeKey, unused, used, type Detector, type World } from '../detector.ts'

/** Deployments and their like: unused at zero replicas, unless something is there to wake them. */
export const scaledDetector: Detector = {
  kinds: ['Deployment.apps', 'StatefulSet.apps', 'ReplicationController'],
  needs: ['services'],
  prepare(world) {
    const wakers = wakersIn(world)
    return (object) => {
      const { replicas = 1 } = object.spec as { replicas?: number }
      if (replicas > 0) return used(`${replicas} replicas`)
      const waker = wakers.get(placeKey(object.metadata.namespace, object.metadata.name))
      return waker ? used(waker) : unused('it is scaled to zero')
    }
  },
}

/** Services that wake a Deployment when somebody calls: what sleeps behind them is in use. */
export function wakersIn(world: World): ReadonlyMap<string, string> {
  const wakers = new Map<string, string>()
  for (const service of world.list('services')) {
    const { annotations = {}, namespace } = service.metadata
    const wakes = Object.entries(annotations).filter(([key]) => key.startsWith('proxless/'))
    for (const [, value] of wakes) wakers.set(placeKey(namespace, value), called(service))
  }
  return wakers
}

/** ReplicaSets: unused when at zero and no longer their Deployment's current one. */
export const replicaSetDetector: Detector = {
  kinds: ['ReplicaSet.apps'],
  needs: ['deployments'],
  prepare(world) {
    const deployments = new Map(world.list('deployments').map((object) => [object.metadata.uid, object]))
    return ({ metadata, spec, status }) => {
      const wanted = (spec as { replicas?: number }).replicas ?? 1
      const running = ((status ?? {}) as { replicas?: number }).replicas ?? 0
      if (wanted > 0 || running > 0) return used(`${Math.max(wanted, running)} replicas`)
      const owner = metadata.ownerReferences
        ?.map(({ uid }) => deployments.get(uid))
        .find((found) => found !== undefined)
      if (owner && revisionOf(owner) === revisionOf({ metadata })) return used(called(owner))
      return unused(owner ? `${called(owner)} has a newer one` : 'it is scaled to zero')
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

/** CronJobs: unused while suspended. */
export const cronJobDetector: Detector = {
  kinds: ['CronJob.batch'],
  needs: [],
  prepare:
    () =>
    ({ spec, status }) => {
      const { active = [] } = (status ?? {}) as { active?: readonly unknown[] }
      if (active.length > 0) return used(`${active.length} running jobs`)
      return (spec as { suspend?: boolean }).suspend ? unused('it is suspended') : used('its schedule')
    },
}
