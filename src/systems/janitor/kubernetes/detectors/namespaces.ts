import type { StoredObject } from '../../../../kube/object.ts'
import { called, used, type Detector, type World } from '../references/detector.ts'
import { wakersIn } from './workloads.ts'

/** Namespaces: idle when nothing in them runs, could run, wakes up when called, keeps data, or is a custom resource. */
export const namespaceDetector: Detector = {
  kinds: ['Namespace'],
  looksInside: true,
  needs: [
    'pods',
    'deployments',
    'statefulsets',
    'daemonsets',
    'jobs',
    'cronjobs',
    'services',
    'persistentvolumeclaims',
    'replicasets',
    'replicationcontrollers',
  ],
  prepare(world) {
    const busy = new Map<string, string>()
    for (const [namespace, by] of activityIn(world)) if (!busy.has(namespace)) busy.set(namespace, by)
    return ({ metadata }) => {
      const by = busy.get(metadata.name)
      return by ? used(by) : world.customUseIn(metadata.name)
    }
  },
}

function* activityIn(world: World): Generator<readonly [namespace: string, by: string]> {
  const entry = (object: StoredObject) => [object.metadata.namespace ?? '', called(object)] as const
  for (const pod of world.list('pods')) {
    const { phase } = (pod.status ?? {}) as { phase?: string }
    if (phase !== 'Succeeded' && phase !== 'Failed') yield entry(pod)
  }
  for (const kind of ['deployments', 'statefulsets', 'replicasets', 'replicationcontrollers'] as const)
    for (const object of world.list(kind))
      if (((object.spec as { replicas?: number }).replicas ?? 1) > 0) yield entry(object)
  for (const object of world.list('daemonsets')) yield entry(object)
  for (const object of world.list('jobs'))
    if (((object.status ?? {}) as { active?: number }).active) yield entry(object)
  for (const object of world.list('cronjobs')) if (!(object.spec as { suspend?: boolean }).suspend) yield entry(object)
  for (const object of world.list('persistentvolumeclaims')) yield entry(object)
  for (const [place, by] of wakersIn(world)) yield [place.slice(0, place.indexOf('/')), by]
}
