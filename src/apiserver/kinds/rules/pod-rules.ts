import type { KubeObject } from '../../../kube/object.ts'
import type { KindRules } from './kind-rules.ts'

interface PodSpec {
  readonly nodeName?: string
  readonly terminationGracePeriodSeconds?: number
  readonly schedulingGates?: readonly object[]
  /** Null when none were sent, as Go writes it. */
  readonly containers?: readonly Container[] | null
  readonly initContainers?: readonly Container[] | null
}

interface Container {
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>
    readonly limits?: Readonly<Record<string, string>>
  }
}

const defaultGraceSeconds = 30
const gated = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
  lastProbeTime: null,
}

/** A pod starts as Pending. A grace period applies only while it runs on a node. */
export const podRules: Partial<KindRules> = {
  prepareCreate(object, { now }) {
    const spec = specOf(object)
    const conditions = spec.schedulingGates?.length ? { conditions: [{ ...gated, lastTransitionTime: now }] } : {}
    return { ...object, status: { phase: 'Pending', ...conditions, qosClass: qosClass(spec) } }
  },
  graceSeconds(object, requested) {
    const { nodeName, terminationGracePeriodSeconds = defaultGraceSeconds } = specOf(object)
    const { phase } = (object.status ?? {}) as { readonly phase?: string }
    if (!nodeName || phase === 'Succeeded' || phase === 'Failed') return 0
    return requested ?? terminationGracePeriodSeconds
  },
}

/** The quality-of-service class, by which the kubelet evicts pods. */
export function qosClass({ containers, initContainers }: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const all = [...(containers ?? []), ...(initContainers ?? [])].map(({ resources = {} }) => resources)
  const hasAmounts = all.some(({ requests = {}, limits = {} }) => hasCpuOrMemory(requests) || hasCpuOrMemory(limits))
  if (!hasAmounts) return 'BestEffort'
  const isExact = all.every(({ requests = {}, limits = {} }) =>
    ['cpu', 'memory'].every((name) => limits[name] !== undefined && (requests[name] ?? limits[name]) === limits[name]),
  )
  return isExact ? 'Guaranteed' : 'Burstable'
}

function hasCpuOrMemory(resources: Readonly<Record<string, string>>): boolean {
  return resources['cpu'] !== undefined || resources['memory'] !== undefined
}

function specOf(object: KubeObject): PodSpec {
  return (object.spec ?? {}) as PodSpec
}
