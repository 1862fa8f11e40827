import { parseAwakeHours } from '../../apis/awake-hours.ts'
import { environmentClass as classKind, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment as environmentKind, type Environment } from '../../apis/environment.ts'
import { notificationChannel } from '../../apis/notification-channel.ts'
import { workSchedule } from '../../apis/work-schedule.ts'
import { findCondition, healthStatus } from '../../kube/conditions.ts'
import { namespaces } from '../../kube/core-types.ts'
import { keyOf } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { matches } from '../../kube/selector.ts'
import { Controller, type ClusterPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { readClass } from './decision/rules.ts'

/** Counts are collected for this long: a hundred new environments are one write. */
const pauseMs = 2000

/** Reports on each EnvironmentClass: how many environments it has, and what is wrong with it. */
export function classController({ client, informers, ports }: ClusterPorts): Controller {
  const classes = informers.open<EnvironmentClass>(client, classKind.type)
  const environments = informers.open<Environment>(client, environmentKind.type, {
    indexes: { class: ({ spec }) => [spec.className] },
  })
  const homes = informers.open(client, namespaces)
  const channels = informers.open<StoredObject>(client, notificationChannel.type)
  const schedules = informers.open<StoredObject>(client, workSchedule.type)
  const controller = new Controller({ name: 'environment-classes', reconcile, ports, concurrency: 1 })
  const writtenAt = new Map<string, number>()
  const all = () => classes.list().map((each) => keyOf(each))
  controller.watch(classes, all)
  controller.watch(channels, all)
  controller.watch(schedules, all)
  // Which classes overlap depends on the labels of Namespaces.
  controller.watch(homes, ({ object, previous }) =>
    classes.list().length > 1 && (!previous || !deepEqual(object.metadata.labels, previous.metadata.labels))
      ? all()
      : [],
  )
  controller.watch(environments, ({ object }) =>
    classes.get('', object.spec.className) ? [keyOf({ ...classKind, name: object.spec.className })] : [],
  )
  return controller

  async function reconcile({ name }: { readonly name: string }): Promise<Outcome> {
    const self = classes.get('', name)
    if (!self || self.metadata.deletionTimestamp) return settled
    const now = ports.clock.now()
    if (!environments.synced || !homes.synced) return wakeAt(now + pauseMs)
    const restUntil = (writtenAt.get(name) ?? 0) + pauseMs
    if (now < restUntil) return wakeAt(restUntil)
    const unseen = selectedBy(self).filter(({ metadata }) => environments.errorIn(metadata.name))
    const mine = environments.byIndex('class', name).filter(({ status }) => !status?.deletion)
    const health = healthOf(self, {
      rivals: rivalsOf(self),
      missing: missingIn(self),
      notes: [...unseenNotes(unseen), ...unreadNotes(mine)],
    })
    const status = { ...self.status, environments: mine.length, ...healthStatus(self, health, now) }
    if (deepEqual(self.status ?? {}, status)) return settled
    writtenAt.set(name, now)
    const written = await client.updateStatus<EnvironmentClass>(classKind.type, self, status)
    controller.expect(keyOf(written), written.metadata.resourceVersion)
    return settled
  }

  /** What the class names and does not exist. */
  function missingIn({ spec }: EnvironmentClass): readonly string[] {
    const { awake } = spec.sleep ?? {}
    const { window } = spec.delete ?? {}
    const named = [
      ...(spec.channels ?? []).map((name) => ['spec.channels', 'NotificationChannel', name] as const),
      ...(awake === undefined || parseAwakeHours(awake) ? [] : [['spec.sleep.awake', 'WorkSchedule', awake] as const]),
      ...(window === undefined ? [] : [['spec.delete.window', 'WorkSchedule', window] as const]),
    ]
    return named.flatMap(([field, kind, name]) => {
      const cache = kind === 'WorkSchedule' ? schedules : channels
      return cache.synced && !cache.get('', name) ? [`${field}: there is no ${kind} ${name}`] : []
    })
  }

  function selectedBy({ spec }: EnvironmentClass): readonly StoredObject[] {
    const { selector } = readClass(spec).rules
    return homes.list().filter(({ metadata }) => matches(selector, metadata.labels))
  }

  function rivalsOf(self: EnvironmentClass): readonly string[] {
    const selected = new Set(selectedBy(self))
    const others = classes.list().filter(({ metadata }) => metadata.name !== self.metadata.name)
    const overlaps = (each: EnvironmentClass) => selectedBy(each).some((home) => selected.has(home))
    return others.filter(overlaps).map(({ metadata }) => metadata.name)
  }
}

/** Why pull requests of environments cannot be read: one of them, and how many more. */
function unreadNotes(environments: readonly Environment[]): readonly string[] {
  const unread = environments.flatMap(({ metadata, status }) => {
    const { status: known, message } = findCondition(status?.conditions, 'PullRequestKnown') ?? {}
    return known === 'False' ? [`the pull request of ${metadata.namespace} cannot be read: ${message}`] : []
  })
  const more = unread.length > 1 ? [`${unread.length - 1} more cannot be read`] : []
  return [...unread.toSorted().slice(0, 1), ...more]
}

/** Which Namespaces this process may not look into. */
function unseenNotes(unseen: readonly StoredObject[]): readonly string[] {
  const names = unseen.map(({ metadata }) => metadata.name).toSorted()
  const list = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`
  return names.length > 0 ? [`Sojourn may not list and watch environments in the namespaces ${list}`] : []
}

type Findings = Readonly<Record<'rivals' | 'missing' | 'notes', readonly string[]>>

function healthOf({ spec }: EnvironmentClass, { rivals, missing, notes }: Findings) {
  const { problems } = readClass(spec)
  if (problems.length > 0) {
    const message = problems.map((problem) => `${problem.field}: ${problem.message}`).join('; ')
    return { health: 'stalled', reason: 'InvalidSpec', message } as const
  }
  if (missing.length > 0)
    return { health: 'not-ready', reason: 'ReferenceNotFound', message: missing.join('; ') } as const
  const overlap = `the older class decides for Namespaces that it and ${rivals.join(', ')} both select`
  const message = [rivals.length > 0 ? overlap : 'its environments follow it', ...notes].join('; ')
  return { health: 'ready', reason: rivals.length > 0 ? 'Overlapping' : 'InForce', message } as const
}
