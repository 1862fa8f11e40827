import { cleanupCandidate } from '../../apis/cleanup-candidate.ts'
import type { CleanupPolicy } from '../../apis/cleanup-policy.ts'
import { windowState } from '../../apis/work-window.ts'
import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { keyToString, type Key } from '../../kube/key.ts'
import { isConditionTrue } from '../../kube/conditions.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import type { Change } from '../../runtime/cache/informer.ts'
import { Serializer } from '../../runtime/controller/serializer.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { planDeleteCycle } from './cycles/delete-cycle.ts'
import type { Leases } from './work/policy-leases.ts'
import { planMarkCycle } from './cycles/mark-cycle.ts'
import { planNotifyCycle } from './cycles/notify-cycle.ts'
import { ownerOf, type Action, type CompiledPolicy } from './policy/policy.ts'
import { invalidCondition, pausedCondition, suspendedCondition, writePolicyStatus } from './work/policy-status.ts'
import { locationsOf } from './verdict/provider.ts'
import { FenceLost, type Fence, type PlannedCycle, type WorkItem, type WorkPorts } from './work/work.ts'

export interface WorkControllerOptions {
  readonly ports: WorkPorts
  readonly controllerPorts: ControllerPorts
  readonly leases: Leases
  /** Writes nothing but policies' own status. */
  readonly dryRun: boolean
  /** Whether this instance may work. */
  readonly inService: () => boolean
}

/** `Check` validates the policy itself; the others are its actions at one location. */
type WorkKind = Action | 'Check'

const outOfServiceMs = 5000
const leaseTakenMs = 3000

/** Plans an action of a policy at a location; undefined when it has nothing to do there. */
const planners: Readonly<Record<Action, (item: WorkItem) => PlannedCycle | undefined>> = {
  Mark: planMarkCycle,
  Notify: planNotifyCycle,
  Delete: planDeleteCycle,
}

/** Runs the janitor's work items: one per policy, location and action. */
export function workController(options: WorkControllerOptions): Controller {
  return new WorkController(options).controller
}

class WorkController {
  readonly controller: Controller
  readonly #options: WorkControllerOptions
  readonly #ports: WorkPorts
  /** By policy and location: two actions on the same marks would only conflict with each other. */
  readonly #serializer = new Serializer()
  /** By work item: until when a cycle found that nothing can be done, whatever is due. */
  readonly #postponed = new Map<string, number>()

  constructor(options: WorkControllerOptions) {
    this.#options = options
    this.#ports = options.ports
    this.controller = new Controller({
      name: 'janitor',
      ports: options.controllerPorts,
      concurrency: 8,
      timeoutMs: 600_000,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    })
    this.#watch()
  }

  #watch(): void {
    const { policies, candidates, schedules, channels, accounts } = this.#ports.caches
    this.controller.watch(policies, (change) => (isOwnWrite(change) ? [] : this.#keysOf(change.object)))
    this.controller.watch(this.#ports.caches.switches, () => policies.list().flatMap((policy) => this.#keysOf(policy)))
    this.controller.watch(candidates, ({ object: { spec } }) =>
      (['Notify', 'Delete'] as const).map((action) => keyFor(action, spec.policy, spec.location)),
    )
    for (const informer of [schedules, channels, accounts])
      this.controller.watch(informer as typeof schedules, () =>
        policies.list().flatMap((policy) => this.#keysOf(policy)),
      )
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const { kind, policy: name, location } = workOf<WorkKind>(key)
    const { caches, clock } = this.#ports
    await this.#reportPause(name)
    if (caches.paused || !this.#options.inService()) return wakeAt(clock.now() + outOfServiceMs)
    if (kind === 'Check') return this.#check(name, caches.policies.get('', name))
    const planned = this.#plan(key)
    if ('outcome' in planned) return planned.outcome
    return this.#serializer.run(`${name}\n${location}`, async (hasWaited) => {
      const current = hasWaited ? this.#plan(key) : planned
      return 'outcome' in current ? current.outcome : this.#runLeased(current, key, signal)
    })
  }

  /** Pausing is a condition of every policy, so that an idle one says why. */
  async #reportPause(name: string): Promise<void> {
    const { policies, paused, current } = this.#ports.caches
    const status = policies.get('', name)?.status
    if (!current || !status || isConditionTrue(status.conditions, 'Paused') === paused) return
    await writePolicyStatus(this.#ports, name, { claims: [pausedCondition(paused)] })
  }

  /** The cycle that is due for a work item, or the outcome when none is. Reads caches only. */
  #plan(key: Key): DueCycle | { readonly outcome: Outcome } {
    const { kind, policy: name, location } = workOf<Action>(key)
    const now = this.#ports.clock.now()
    const object = this.#ports.caches.policies.get('', name)
    if (!object || object.metadata.deletionTimestamp) return { outcome: settled }
    const readiness = this.#ports.caches.readiness(object)
    if (!readiness.ready || readiness.policy.suspended) return { outcome: settled }
    const { policy, schedule } = readiness
    if (!policy.actions.has(kind) || !this.#locationsOf(policy).includes(location)) return { outcome: settled }
    const window = schedule ? windowState(schedule, now) : { open: true as const, until: Infinity }
    const nextOpenAt = window.open ? undefined : window.nextOpenAt
    if (!window.open && kind !== 'Mark') return { outcome: nextOpenAt === undefined ? settled : wakeAt(nextOpenAt) }
    const dryRun = this.#options.dryRun || policy.dryRun || (this.#ports.door.state?.dryRun ?? true)
    const item = { policy, object, location, schedule, dryRun, inWindow: window.open, ports: this.#ports }
    const cycle = planners[kind](item)
    if (!cycle) return { outcome: settled }
    const dueAt = Math.max(cycle.dueAt, this.#postponed.get(keyToString(key)) ?? 0)
    if (now >= dueAt) return { item, run: cycle.run }
    return { outcome: wakeAt(nextOpenAt === undefined ? dueAt : Math.min(dueAt, Math.max(now + 1, nextOpenAt))) }
  }

  async #runLeased({ item, run }: DueCycle, key: Key, signal: AbortSignal): Promise<Outcome> {
    const { caches, clock } = this.#ports
    const text = keyToString(key)
    this.#postponed.delete(text)
    const wrote = (resourceVersion: string) => this.controller.expect(key, resourceVersion, caches.candidates)
    const postpone = (until: number) => void this.#postponed.set(text, until)
    const withFence = (fence: Fence) => run({ ...item, fence, signal, wrote, postpone })
    if (item.dryRun) return withFence({ held: true, number: 0 })
    try {
      const held = await this.#options.leases.hold(
        { policy: item.policy.name, location: item.location, owner: ownerOf(item.policy) },
        signal,
        withFence,
      )
      return held ? held.result : wakeAt(clock.now() + leaseTakenMs)
    } catch (error) {
      if (error instanceof FenceLost) return wakeAt(clock.now() + leaseTakenMs)
      throw error
    }
  }

  /** Reports whether the policy is valid, and deletes marks of locations it no longer targets. */
  async #check(name: string, object: CleanupPolicy | undefined): Promise<Outcome> {
    const { dryRun } = this.#options
    if (!object || object.metadata.deletionTimestamp !== undefined) {
      if (!dryRun) await this.#deleteMarks(name, () => true)
      return settled
    }
    const readiness = this.#ports.caches.readiness(object)
    if (!readiness.ready) {
      await writePolicyStatus(this.#ports, name, { claims: [invalidCondition(readiness.problems)] })
      return settled
    }
    const { policy } = readiness
    if (policy.suspended) await writePolicyStatus(this.#ports, name, { claims: [suspendedCondition] })
    const locations = this.#locationsOf(policy)
    if (!dryRun && !policy.dryRun) await this.#deleteMarks(name, (location) => !locations.includes(location))
    return settled
  }

  async #deleteMarks(policy: string, isObsolete: (location: string) => boolean): Promise<void> {
    for (const candidate of this.#ports.caches.candidates.byIndex('policy', policy))
      if (isObsolete(candidate.spec.location)) await removeOwn(this.#ports.client, cleanupCandidate.type, candidate)
  }

  #locationsOf(policy: CompiledPolicy): readonly string[] {
    return locationsOf(this.#ports.providers, policy)
  }

  #keysOf(object: CleanupPolicy): readonly Key[] {
    const { name } = object.metadata
    const readiness = this.#ports.caches.readiness(object)
    const check = keyFor('Check', name, '')
    if (!readiness.ready) return [check]
    const { actions } = readiness.policy
    const work = this.#locationsOf(readiness.policy).flatMap((location) =>
      [...actions].map((action) => keyFor(action, name, location)),
    )
    return [check, ...work]
  }
}

interface DueCycle extends Pick<PlannedCycle, 'run'> {
  readonly item: WorkItem
}

/** Only the status of the policy changed, and only the janitor writes that. */
function isOwnWrite({ type, object, previous }: Change<CleanupPolicy>): boolean {
  return (
    type === 'modified' &&
    previous !== undefined &&
    previous.metadata.generation === object.metadata.generation &&
    previous.metadata.deletionTimestamp === object.metadata.deletionTimestamp &&
    deepEqual(previous.metadata.annotations, object.metadata.annotations)
  )
}

/** A work item as a key. Keys are slash-separated, so slashes of the location are replaced. */
function keyFor(kind: WorkKind, policy: string, location: string): Key {
  return { cluster: '', kind, namespace: location.replaceAll('/', '|'), name: policy }
}

function workOf<K extends WorkKind>({ kind, namespace, name }: Key) {
  return { kind: kind as K, policy: name, location: namespace.replaceAll('|', '/') }
}
