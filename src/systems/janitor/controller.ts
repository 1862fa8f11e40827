import { Serializer } from '../../runtime/controller/serializer.ts'
import { cleanupCandidate } from '../../apis/cleanup-candidate.ts'
import type { CleanupPolicy } from '../../apis/cleanup-policy.ts'
import { windowState } from '../../apis/work-window.ts'
import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { keyToString, type Key } from '../../kube/key.ts'
import { deepEqual } from '../../kube/patch.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import type { Change } from '../../runtime/cache/informer.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { deleteCycle, deleteDueAt } from './cycles/delete-cycle.ts'
import type { Leases } from './work/lease-book.ts'
import { markCycle, markDueAt } from './cycles/mark-cycle.ts'
import { notifyCycle, notifyDueAt } from './cycles/notify-cycle.ts'
import type { Action, CompiledPolicy } from './policy/policy.ts'
import { notReady, writePolicyStatus } from './work/policy-status.ts'
import { FenceLost, type Fence, type Unleased, type Work, type WorkPorts } from './work/work.ts'

export interface WorkControllerOptions {
  readonly ports: WorkPorts
  readonly controllerPorts: ControllerPorts
  readonly leases: Leases
  /** Writes nothing but policies' own status. */
  readonly dryRun: boolean
  /** Whether this instance may work. */
  readonly inService: () => boolean
}

/** `Check` looks at the policy itself; the others are its actions at one location. */
type WorkKind = Action | 'Check'

const outOfServiceMs = 5000
const takenMs = 3000

/** The queue of work items, one per policy, location and action, and what is done with each. */
export function workController({
  ports,
  controllerPorts,
  leases,
  dryRun,
  inService,
}: WorkControllerOptions): Controller {
  const { desk, clock, providers, door, client } = ports
  /** Two actions on the same marks would only run into each other. */
  const cycles = new Serializer()
  /** Work items that a look has shown to be pointless until then. */
  const resting = new Map<string, number>()
  const controller = new Controller({
    name: 'janitor',
    ports: controllerPorts,
    concurrency: 8,
    timeoutMs: 600_000,
    reconcile,
  })

  controller.watch(desk.policies, (change) => (isOwnWriting(change) ? [] : keysOf(change.object)))
  controller.watch(desk.candidates, ({ object: { spec } }) =>
    (['Notify', 'Delete'] as const).map((action) => keyFor(action, spec.policy, spec.location)),
  )
  for (const informer of [desk.schedules, desk.channels, desk.accounts])
    controller.watch(informer as typeof desk.schedules, () => desk.policies.list().flatMap(keysOf))
  return controller

  async function reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const { kind, policy: name, location } = workOf(key)
    const now = clock.now()
    if (desk.paused || !inService()) return wakeAt(now + outOfServiceMs)
    const object = desk.policies.get('', name)
    if (kind === 'Check') return check(name, object)
    if (!object || object.metadata.deletionTimestamp) return settled
    const readiness = desk.readiness(object)
    if (!readiness.ready || readiness.policy.suspended) return settled
    const { policy, schedule } = readiness
    if (!policy.actions.has(kind) || !locationsOf(policy).includes(location)) return settled
    const window = schedule ? windowState(schedule, now) : { open: true as const, until: Infinity }
    if (!window.open && kind !== 'Mark') return window.nextOpenAt === undefined ? settled : wakeAt(window.nextOpenAt)
    const unleased: Unleased = {
      policy,
      object,
      location,
      schedule,
      dryRun: dryRun || policy.dryRun || (door.state?.dryRun ?? true),
    }
    const due = dueTime(kind, unleased)
    if (due === undefined) return settled
    const dueAt = Math.max(due, resting.get(keyToString(key)) ?? 0)
    if (now < dueAt)
      return wakeAt(
        window.open || window.nextOpenAt === undefined ? dueAt : Math.min(dueAt, Math.max(now + 1, window.nextOpenAt)),
      )
    return cycles.run(`${name}\n${location}`, () => inLease(kind, unleased, { key, signal, inWindow: window.open }))
  }

  function dueTime(kind: Action, unleased: Unleased): number | undefined {
    switch (kind) {
      case 'Mark':
        return markDueAt(unleased)
      case 'Notify':
        return notifyDueAt(unleased, ports)
      case 'Delete':
        return deleteDueAt(unleased, ports)
    }
  }

  interface Turn {
    readonly key: Key
    readonly signal: AbortSignal
    readonly inWindow: boolean
  }

  async function inLease(kind: Action, unleased: Unleased, turn: Turn): Promise<Outcome> {
    const { policy, location } = unleased
    const wrote = (resourceVersion: string) => controller.expect(turn.key, resourceVersion, desk.candidates)
    const text = keyToString(turn.key)
    resting.delete(text)
    const rest = (until: number) => void resting.set(text, until)
    const run = (fence: Fence) => act(kind, { ...unleased, fence, signal: turn.signal, wrote, rest }, turn.inWindow)
    if (unleased.dryRun) return run({ held: true, number: 0 })
    try {
      const held = await leases.hold(policy.name, location, turn.signal, run)
      return held ? held.result : wakeAt(clock.now() + takenMs)
    } catch (error) {
      if (error instanceof FenceLost) return wakeAt(clock.now() + takenMs)
      throw error
    }
  }

  function act(kind: Action, work: Work, inWindow: boolean): Promise<Outcome> {
    switch (kind) {
      case 'Mark':
        return markCycle(work, ports, inWindow)
      case 'Notify':
        return notifyCycle(work, ports)
      case 'Delete':
        return deleteCycle(work, ports)
    }
  }

  /** Says whether the policy can be followed, and drops the marks it no longer has anything to do with. */
  async function check(name: string, object: CleanupPolicy | undefined): Promise<Outcome> {
    const gone = !object || object.metadata.deletionTimestamp !== undefined
    if (gone) {
      if (!dryRun) await drop(name, () => true)
      return settled
    }
    const readiness = desk.readiness(object)
    if (!readiness.ready) {
      await writePolicyStatus(ports, name, { claims: [notReady(readiness.problems)] })
      return settled
    }
    const { policy } = readiness
    if (policy.suspended)
      await writePolicyStatus(ports, name, {
        claims: [
          { type: 'Ready', status: 'False', reason: 'Suspended', message: 'it does nothing while it is suspended' },
        ],
      })
    const locations = locationsOf(policy)
    if (!dryRun && !policy.dryRun) await drop(name, (location) => !locations.includes(location))
    return settled
  }

  async function drop(policy: string, unwanted: (location: string) => boolean): Promise<void> {
    for (const candidate of desk.candidates.byIndex('policy', policy))
      if (unwanted(candidate.spec.location)) await removeOwn(client, cleanupCandidate.type, candidate)
  }

  function locationsOf(policy: CompiledPolicy): readonly string[] {
    return providers.flatMap((provider) => provider.locations(policy))
  }

  function keysOf(object: CleanupPolicy): readonly Key[] {
    const { name } = object.metadata
    const readiness = desk.readiness(object)
    const check = keyFor('Check', name, '')
    if (!readiness.ready) return [check]
    const { actions } = readiness.policy
    const work = locationsOf(readiness.policy).flatMap((location) =>
      [...actions].map((action) => keyFor(action, name, location)),
    )
    return [check, ...work]
  }
}

/** Only the status of a policy changed: that was us. */
function isOwnWriting({ type, object, previous }: Change<CleanupPolicy>): boolean {
  return (
    type === 'modified' &&
    previous !== undefined &&
    previous.metadata.generation === object.metadata.generation &&
    previous.metadata.deletionTimestamp === object.metadata.deletionTimestamp &&
    deepEqual(previous.metadata.annotations, object.metadata.annotations)
  )
}

/** A work item as a key; a location's slashes would break it. */
export function keyFor(kind: WorkKind, policy: string, location: string): Key {
  return { cluster: '', kind, namespace: location.replaceAll('/', '|'), name: policy }
}

function workOf({ kind, namespace, name }: Key): {
  readonly kind: WorkKind
  readonly policy: string
  readonly location: string
} {
  return { kind: kind as WorkKind, policy: name, location: namespace.replaceAll('|', '/') }
}
