import type { SavingsRow } from '../../../apis/savings-report.ts'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { amountOf } from '../../../kube/basics/quantity.ts'
import { nothing, podRequests, times, type Amounts, type PodSpec } from '../../../kube/basics/requests.ts'
import { parseTime } from '../../../kube/time.ts'
import { pricedParts, pricedTypes, storedGiB, type PricedPart } from '../../../prices/aws-prices.ts'

/** One thing that is asleep or deleted: what it would use, and since when it does not. */
export interface Source {
  readonly uid: string
  readonly place: Pick<SavingsRow, 'namespace' | 'owner' | 'class'>
  readonly system: string
  readonly state: SavingsRow['state']
  readonly amounts: Amounts
  /** Of a cloud resource: where it was, and what AWS charged for. */
  readonly region?: string
  readonly parts?: readonly PricedPart[] | undefined
  readonly from: number
  readonly until: number
}

interface Spec extends PodSpec {
  readonly replicas?: number
  readonly template?: { readonly spec?: PodSpec }
  readonly nodeName?: string
  readonly volumeName?: string
}

/** How many replicas a workload had before Sojourn put it to sleep; 0 if it did not. Users may edit the annotation: it has a maximum. */
function formerReplicas({ metadata: { annotations = {} } }: KubeObject): number {
  const former = Number(annotations['sojourn.dev/former-replicas'] ?? annotations['downscaler/original-replicas'])
  return Number.isInteger(former) && former > 0 ? Math.min(former, 1000) : 0
}

/** More than the largest machines and volumes have. What requests more has never run, whatever its author writes. */
const most = { cpu: 4096, memory: 2 ** 17, gpu: 256, storage: 2 ** 21 } as const

function possible(amounts: Amounts): Amounts {
  return Object.entries(most).every(([name, limit]) => amounts[name as keyof typeof most] <= limit) ? amounts : nothing
}

function requestsOf(pod: PodSpec = {}): Amounts {
  return possible(podRequests(pod))
}

/** What a sleeping workload would request beyond what it does, and since when; undefined if it is awake, or a user scaled it down. */
export function sleepOf(workload: StoredObject): Pick<Source, 'amounts' | 'from'> | undefined {
  const { replicas = 1, template } = (workload.spec ?? {}) as Spec
  const from = parseTime(workload.metadata.annotations?.['sojourn.dev/asleep-since'])
  const missing = formerReplicas(workload) - replicas
  if (from === undefined || missing <= 0) return undefined
  return { amounts: times(requestsOf(template?.spec), missing), from }
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
      return times(requestsOf(spec.template?.spec), Math.max(spec.replicas ?? 1, formerReplicas(manifest)))
    case 'Pod':
      // Whether another one had finished, its manifest does not say.
      return !isControlled && spec.nodeName && (spec.restartPolicy ?? 'Always') === 'Always'
        ? requestsOf(spec)
        : undefined
    case 'PersistentVolumeClaim':
      return possible({
        ...nothing,
        storage: spec.volumeName ? amountOf(spec.resources?.requests?.['storage']) / 2 ** 30 : 0,
      })
    case 'Service':
      // The finalizer is on those for which a cloud made a load balancer.
      return metadata.finalizers?.includes(balanced) ? { ...nothing, loadBalancers: 1 } : undefined
    default: {
      const parts = pricedParts(kind, spec)
      const loadBalancers = parts?.some(([name]) => /balancer$/i.test(name)) ? 1 : 0
      return parts && { ...nothing, storage: storedGiB(parts), loadBalancers }
    }
  }
}

/** Kinds for which `releasedBy` may say something. */
export const releasingKinds = new Set([
  ...'Deployment StatefulSet Rollout Pod PersistentVolumeClaim Service'.split(' '),
  ...pricedTypes,
])

const balanced = 'service.kubernetes.io/load-balancer-cleanup'
