import type { Condition } from '../../../kube/conditions.ts'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { type LabelSelector, selects } from '../../../kube/selector.ts'
import { StatusError } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { WritePorts } from '../contract/write-object.ts'

type BudgetCondition = Pick<Condition, 'type'> & Partial<Condition>

interface BudgetStatus {
  readonly observedGeneration?: number
  readonly disruptionsAllowed?: number
  readonly currentHealthy?: number
  readonly desiredHealthy?: number
  readonly disruptedPods?: Readonly<Record<string, string>>
  readonly conditions?: readonly BudgetCondition[]
}

/** A PodDisruptionBudget, as far as evictions look at it. */
export interface Budget {
  readonly type: ServedKind
  readonly object: StoredObject
  readonly spec: { readonly selector?: LabelSelector; readonly unhealthyPodEvictionPolicy?: string }
  readonly status: BudgetStatus
}

const maxDisrupted = 2000
const maxBudgets = 10_000

/** The budgets that a pod is under. */
export function budgetsOf({ store, kinds }: Pick<WritePorts, 'store' | 'kinds'>, pod: KubeObject): readonly Budget[] {
  const type = kinds.find({ group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' })
  if (!type) return []
  const { namespace = '', labels } = pod.metadata
  return store
    .scan({ resource: type.resource, namespace, limit: maxBudgets })
    .map(({ document }) => asBudget(type, document.value))
    .filter(({ spec }) => selects(spec.selector, labels))
}

/** The budget after one of its disruptions was used by this pod; throws what the API says when there is none left. */
export function spend(budget: Budget, pod: string, now: string): KubeObject {
  const { object, status } = budget
  const { disruptionsAllowed = 0, disruptedPods = {} } = status
  if ((status.observedGeneration ?? 0) < (object.metadata.generation ?? 0))
    throw exhausted(`The disruption budget ${object.metadata.name} is still being processed by the server.`, 10)
  if (disruptionsAllowed < 0) throw forbidden(object, 'pdb disruptions allowed is negative')
  if (Object.keys(disruptedPods).length > maxDisrupted)
    throw forbidden(object, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller')
  if (disruptionsAllowed === 0) throw exhausted(whyNone(budget), 0)
  const left = disruptionsAllowed - 1
  const conditions = left > 0 ? status.conditions : withoutDisruptions(status.conditions, object, now)
  return {
    ...object,
    status: {
      ...status,
      disruptionsAllowed: left,
      disruptedPods: { ...disruptedPods, [pod]: now },
      ...(conditions ? { conditions } : {}),
    },
  }
}

function asBudget(type: ServedKind, object: StoredObject): Budget {
  const { spec = {}, status = {} } = object as { spec?: Budget['spec']; status?: BudgetStatus }
  return { type, object, spec, status }
}

function whyNone({ object, status }: Budget): string {
  const { currentHealthy = 0, desiredHealthy = 0, conditions = [] } = status
  const budget = `The disruption budget ${object.metadata.name}`
  const refused = conditions.find(({ type, status: value }) => type === allowedCondition && value === 'False')
  if (refused?.message && refused.reason === 'SyncFailed')
    return `${budget} does not allow evicting pods currently because it failed sync: ${refused.message}`
  if (currentHealthy <= desiredHealthy)
    return `${budget} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
  const why = refused?.message ? ` (${refused.reason ?? ''}): ${refused.message}` : ''
  return `${budget} does not allow evicting pods currently${why}`
}

const allowedCondition = 'DisruptionAllowed'

function withoutDisruptions(
  conditions: readonly BudgetCondition[] = [],
  { metadata }: StoredObject,
  now: string,
): readonly object[] {
  const condition = {
    type: allowedCondition,
    status: 'False',
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: now,
    reason: 'InsufficientPods',
    message: '',
  }
  return [...conditions.filter(({ type }) => type !== allowedCondition), condition]
}

function exhausted(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    details: {
      causes: [{ reason: 'DisruptionBudget', message }],
      ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
    },
  })
}

function forbidden({ metadata }: StoredObject, why: string): StatusError {
  const { name } = metadata
  return new StatusError('Forbidden', `poddisruptionbudget.policy "${name}" is forbidden: ${why}`, {
    details: { name, group: 'policy', kind: 'poddisruptionbudget' },
  })
}
