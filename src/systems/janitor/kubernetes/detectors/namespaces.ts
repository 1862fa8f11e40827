import type { StoredObject } from '../../../../kube/object.ts'
import { kindAndName, type Detector, type ClusterView } from '../references/detector.ts'
import { used } from '../../model/resource.ts'
import { calledByServer, serverCallKinds } from './network.ts'
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
    ...serverCallKinds,
  ],
  prepare(cluster) {
    const busy = new Map<string, string>()
    for (const [namespace, by] of activityIn(cluster)) if (!busy.has(namespace)) busy.set(namespace, by)
    return ({ metadata }) => {
      const by = busy.get(metadata.name)
      return by ? used(by) : cluster.customUseIn(metadata.name)
    }
  },
}

function* activityIn(cluster: ClusterView): Generator<readonly [namespace: string, by: string]> {
  const entry = (object: StoredObject) => [object.metadata.namespace ?? '', kindAndName(object)] as const
  for (const pod of cluster.list('pods')) {
    const { phase } = (pod.status ?? {}) as { phase?: string }
    if (phase !== 'Succeeded' && phase !== 'Failed') yield entry(pod)
  }
  for (const kind of ['deployments', 'statefulsets', 'replicasets', 'replicationcontrollers'] as const)
    for (const object of cluster.list(kind))
      if (((object.spec as { replicas?: number }).replicas ?? 1) > 0) yield entry(object)
  for (const object of cluster.list('daemonsets')) yield entry(object)
  for (const object of cluster.list('jobs'))
    if (((object.status ?? {}) as { active?: number }).active) yield entry(object)
  for (const object of cluster.list('cronjobs'))
    if (!(object.spec as { suspend?: boolean }).suspend) yield entry(object)
  for (const object of cluster.list('persistentvolumeclaims')) yield entry(object)
  // Deleting the namespace of an admission webhook may block every write to the cluster.
  for (const [place, by] of [...wakersIn(cluster), ...calledByServer(cluster)])
    yield [place.slice(0, place.indexOf('/')), by]
}
