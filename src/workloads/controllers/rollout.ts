import type { Workload } from '../types.ts'

/** What a rollout depends on. */
export interface RolloutState {
  readonly wanted: number
  readonly strategy: {
    readonly type?: string
    readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string }
  }
  /** The ReplicaSet of the newest template. */
  readonly current: Workload | undefined
  readonly owned: readonly Workload[]
  readonly isPaused: boolean
}

/** A ReplicaSet to scale. */
export interface Scaling {
  readonly set: Workload
  readonly replicas: number
}

/**
 * Plans the next step of a rollout: the new ReplicaSet grows as far as maxSurge allows, old ones shrink as far as maxUnavailable allows,
 * unavailable Pods first. Called after every change until the plan is empty.
 */
export function planRollout({ wanted, strategy, current, owned, isPaused }: RolloutState): readonly Scaling[] {
  if (!current || isPaused) return isPaused ? rescale(owned, current, wanted) : []
  const others = owned.filter((set) => set !== current)
  if (strategy.type === 'Recreate') return recreate(current, others, wanted)
  const old = others.filter((set) => sizeOf(set) > 0)
  const surge = amount(strategy.rollingUpdate?.maxSurge ?? '25%', wanted, Math.ceil)
  const written = amount(strategy.rollingUpdate?.maxUnavailable ?? '25%', wanted, Math.floor)
  // With both at zero the rollout could never progress.
  const unavailable = surge === 0 && written === 0 ? 1 : written
  return [...grow(current, { old, wanted, surge }), ...shrink(current, { old, wanted, unavailable })]
}

function grow(
  current: Workload,
  { old, wanted, surge }: { old: readonly Workload[]; wanted: number; surge: number },
): readonly Scaling[] {
  const size = sizeOf(current)
  if (size === wanted) return []
  if (size > wanted) return [{ set: current, replicas: wanted }]
  const total = size + old.reduce((sum, set) => sum + sizeOf(set), 0)
  const room = Math.max(0, wanted + surge - total)
  const next = Math.min(wanted, size + room)
  return next === size ? [] : [{ set: current, replicas: next }]
}

function shrink(
  current: Workload,
  { old, wanted, unavailable }: { old: readonly Workload[]; wanted: number; unavailable: number },
): readonly Scaling[] {
  const serving = availableOf(current) + old.reduce((sum, set) => sum + availableOf(set), 0)
  let surplus = Math.max(0, serving - (wanted - unavailable))
  return old.flatMap((set) => {
    const unavailableNow = sizeOf(set) - availableOf(set)
    const healthy = Math.min(surplus, availableOf(set))
    surplus -= healthy
    const next = Math.max(0, sizeOf(set) - unavailableNow - healthy)
    return next === sizeOf(set) ? [] : [{ set, replicas: next }]
  })
}

/** Scales the new ReplicaSet up only after the last Pod of the old ones is deleted. */
function recreate(current: Workload, others: readonly Workload[], wanted: number): readonly Scaling[] {
  const old = others.filter((set) => sizeOf(set) > 0)
  if (old.length > 0) return old.map((set) => ({ set, replicas: 0 }))
  if (others.some(hasPods) && sizeOf(current) < wanted) return []
  return sizeOf(current) === wanted ? [] : [{ set: current, replicas: wanted }]
}

/** A paused Deployment does not roll out, but it still scales its only active ReplicaSet. */
function rescale(owned: readonly Workload[], current: Workload | undefined, wanted: number): readonly Scaling[] {
  const active = owned.filter((set) => sizeOf(set) > 0)
  const set = active.length === 1 ? active[0] : current
  return set && sizeOf(set) !== wanted && active.length <= 1 ? [{ set, replicas: wanted }] : []
}

function amount(written: number | string, whole: number, round: (value: number) => number): number {
  return typeof written === 'number' ? written : round((Number.parseInt(written, 10) / 100) * whole)
}

function sizeOf({ spec }: Workload): number {
  return spec.replicas ?? 1
}

/** Whether it has Pods, terminating ones included. A status older than the last scaling counts as yes. */
function hasPods({ metadata, status }: Workload): boolean {
  if (Number(status?.['observedGeneration'] ?? 0) < (metadata.generation ?? 0)) return true
  return Number(status?.['replicas'] ?? 0) + Number(status?.['terminatingReplicas'] ?? 0) > 0
}

function availableOf({ spec, status }: Workload): number {
  return Math.min(spec.replicas ?? 1, Number(status?.availableReplicas ?? 0))
}
