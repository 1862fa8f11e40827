import type { SavingsRow } from '../../../apis/savings-report.ts'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { amountOf } from '../../../kube/basics/quantity.ts'
import { nothing, podRequests, times, type Amounts, type PodSpec } from '../../../kube/basics/requests.ts'
import { parseTime } from '../../../kube/time.ts'

/** One thing that is asleep or deleted: what it would use, and since when it does not. */
export interface Source {
  readonly uid: string
  readonly place: Pick<SavingsRow, 'namespace' | 'owner' | 'class'>
  readonly system: string
  readonly state: SavingsRow['state']
  readonly amounts: Amounts
  /** Of a cloud resource. */
  readonly region?: string
  readonly from: number
  readonly until: number
}

interface Spec extends PodSpec {
  readonly replicas?: number
  readonly template?: { readonly spec?: PodSpec }
  readonly nodeName?: string
  readonly volumeName?: string
  readonly VolumeSize?: number
}

/** How many replicas a workload had before Sojourn put it to sleep; 0 if it did not. Users may edit the annotation: it has a maximum. */
function formerReplicas({ metadata: { annotations = {} } }: KubeObject): number {
  const former = Number(annotations['sojourn.dev/former-replicas'] ?? annotations['downscaler/original-replicas'])
  return Number.isInteger(former) && former > 0 ? Math.min(former, 1000) : 0
}

/** What a sleeping workload would request beyond what it does, and since when; undefined if it is awake, or a user scaled it down. */
export function sleepOf(workload: StoredObject): Pick<Source, 'amounts' | 'from'> | undefined {
  const { replicas = 1, template } = (workload.spec ?? {}) as Spec
  const from = parseTime(workload.metadata.annotations?.['sojourn.dev/asleep-since'])
  const missing = formerReplicas(workload) - replicas
  if (from === undefined || missing <= 0) return undefined
  return { amounts: times(podRequests(template?.spec ?? {}), missing), from }
}

/** What a deleted object requested, by its recorded manifest: the top controllers, claims and load balancers. Undefined: nothing. */
export function releasedBy(manifest: KubeObject): Amounts | undefined {
  const { kind, metadata } = manifest
  const spec = (manifest.spec ?? {}) as Spec
  const isControlled = metadata.ownerReferences?.some(({ controller }) => controller) ?? false
  switch (kind) {
    case 'Deployment':
    case 'StatefulSet':
    case 'Rollout':
      return times(podRequests(spec.template?.spec ?? {}), Math.max(spec.replicas ?? 1, formerReplicas(manifest)))
    case 'Pod':
      // Whether another one had finished, its manifest does not say.
      return !isControlled && spec.nodeName && (spec.restartPolicy ?? 'Always') === 'Always'
        ? podRequests(spec)
        : undefined
    case 'PersistentVolumeClaim':
      return { ...nothing, storage: spec.volumeName ? amountOf(spec.resources?.requests?.['storage']) / 2 ** 30 : 0 }
    case 'Service':
      // The finalizer is on those for which a cloud made a load balancer.
      return metadata.finalizers?.includes(balanced) ? { ...nothing, loadBalancers: 1 } : undefined
    case 'loadBalancer':
    case 'loadBalancerV2':
      return { ...nothing, loadBalancers: 1 }
    case 'snapshot':
      // An upper bound: snapshots are stored incrementally. An image costs what its snapshots do.
      return { ...nothing, storage: spec.VolumeSize ?? 0 }
    default:
      return undefined
  }
}

/** Kinds for which `releasedBy` may say something. */
export const releasingKinds = new Set(
  'Deployment StatefulSet Rollout Pod PersistentVolumeClaim Service loadBalancer loadBalancerV2 snapshot'.split(' '),
)

const balanced = 'service.kubernetes.io/load-balancer-cleanup'
