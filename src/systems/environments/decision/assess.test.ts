import { describe, expect, it } from 'vitest'
import type { EnvironmentClassSpec } from '../../../apis/environment-class.ts'
import type { EnvironmentStatus } from '../../../apis/environment.ts'
import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import { windowState } from '../../../apis/work-window.ts'
import { findCondition } from '../../../kube/conditions.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { formatTime } from '../../../kube/time.ts'
import { assess, type Surroundings } from './assess.ts'
import type { Observed } from './facts.ts'
import { readClass } from './rules.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
/** A Wednesday. */
const now = Date.UTC(2026, 10, 18, 12)
const created = formatTime(now - day)
const namespace = 'shop-pr-42'

interface Given {
  readonly spec?: Partial<EnvironmentClassSpec>
  readonly status?: EnvironmentStatus
  readonly power?: { power: 'Awake' | 'Asleep'; powerSince: string; powerUntil: string }
  readonly workloads?: readonly StoredObject[]
  readonly services?: readonly StoredObject[]
  readonly around?: Partial<Surroundings>
}

function statusOf({ spec = {}, status = {}, power, workloads = [shop()], services = [], around = {} }: Given) {
  const metadata = { name: namespace, uid: 'u', resourceVersion: '1', creationTimestamp: created, generation: 1 }
  const classSpec = { namespaceSelector: { matchLabels: { env: 'preview' } }, ...spec }
  const environmentClass = { apiVersion: 'sojourn.dev/v1alpha1', kind: 'EnvironmentClass', metadata, spec: classSpec }
  const own = { ...metadata, namespace }
  const kinds = { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Environment' } as const
  const observed = {
    environment: { ...kinds, metadata: own, spec: { className: 'preview', ...power }, status },
    namespace: { apiVersion: 'v1', kind: 'Namespace', metadata },
    environmentClass,
    rules: readClass(classSpec).rules,
    workloads,
    services,
  } as Observed
  const hours = parseAwakeHours(spec.sleep?.awake ?? '')
  const none: Surroundings = {
    pull: undefined,
    windowAt: (at) => hours && windowState(hours, at),
    mailAt: 0,
    isEvicted: false,
    isBeyondLimit: false,
    refusal: undefined,
    channels: [],
  }
  return assess(observed, { ...none, ...around }, now).status
}

function shop(
  replicas = 2,
  annotations: Record<string, string> = {},
  more: Partial<StoredObject['metadata']> = {},
): StoredObject {
  const metadata = {
    name: 'shop',
    namespace,
    uid: `shop-${JSON.stringify(more)}`,
    resourceVersion: '1',
    creationTimestamp: created,
  }
  const template = { metadata: { labels: { app: 'shop' } } }
  const status = { readyReplicas: replicas }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadata, annotations, ...more },
    spec: { replicas, template },
    status,
  }
}

const asleep = shop(0, { 'sojourn.dev/former-replicas': '2' })

function service(condition?: { status: 'True' | 'False'; message: string }): StoredObject {
  const annotations = { 'proxless/domains': 'shop.test' }
  const metadata = { name: 'web', namespace, uid: 's', resourceVersion: '1', creationTimestamp: created, annotations }
  const conditions = condition
    ? [{ type: 'sojourn.dev/OnDemand', reason: 'X', lastTransitionTime: created, ...condition }]
    : []
  return { apiVersion: 'v1', kind: 'Service', metadata, status: { conditions } }
}

const routed = service({ status: 'True', message: 'Requests to this Service wake its workload.' })
const at = (ms: number) => formatTime(ms)
const usedAt = (ms: number) => shop(2, { 'proxless/last-used': at(ms) })

describe('when an environment sleeps and wakes next', () => {
  it.each<[string, Given, { sleepsAt?: string; wakesAt?: string }]>([
    [
      'sleeps when it will have been idle',
      { spec: { sleep: { idleAfter: '1h' } }, services: [routed], workloads: [usedAt(now - minute)] },
      { sleepsAt: at(now + 59 * minute) },
    ],
    [
      'does not sleep by idleness that cannot be seen',
      { spec: { sleep: { idleAfter: '1h' } }, workloads: [usedAt(now - minute)] },
      {},
    ],
    [
      'does not sleep after its grace when nothing puts it to sleep then',
      { status: { deployed: { hash: '', at: at(now) } } },
      {},
    ],
    [
      'sleeps when its hours end, however idle it is',
      { spec: { sleep: { idleAfter: '1h', awake: 'Mon-Fri 08:00-18:00 UTC' } }, services: [routed] },
      { sleepsAt: at(now + 6 * hour) },
    ],
    [
      'sleeps by idleness after it was kept awake by hand',
      {
        spec: { sleep: { idleAfter: '1h' } },
        services: [routed],
        power: { power: 'Awake', powerSince: at(now - minute), powerUntil: at(now + 2 * hour) },
      },
      { sleepsAt: at(now + 2 * hour) },
    ],
    [
      'wakes when its hours begin',
      { spec: { sleep: { awake: 'Thu 08:00-18:00 UTC' } }, workloads: [asleep] },
      { wakesAt: at(now + 20 * hour) },
    ],
    [
      'wakes after a sleep by hand where the class has no sleep rule',
      {
        workloads: [asleep],
        power: { power: 'Asleep', powerSince: at(now - minute), powerUntil: at(now + 2 * hour) },
      },
      { wakesAt: at(now + 2 * hour) },
    ],
    [
      'is not woken by a class without a sleep rule where Services decide',
      {
        services: [routed],
        workloads: [asleep],
        power: { power: 'Asleep', powerSince: at(now - minute), powerUntil: at(now + 2 * hour) },
      },
      {},
    ],
    [
      'does not wake at the end of a sleep by hand that idleness goes on',
      {
        spec: { sleep: { idleAfter: '1h' } },
        services: [routed],
        workloads: [asleep],
        power: { power: 'Asleep', powerSince: at(now - minute), powerUntil: at(now + 2 * hour) },
      },
      {},
    ],
  ])('%s', (_, given, expected) => {
    const { sleepsAt, wakesAt } = statusOf(given)
    expect({ sleepsAt, wakesAt }).toEqual({ sleepsAt: undefined, wakesAt: undefined, ...expected })
  })
})

describe('the power of an environment', () => {
  it.each<[string, Given, string]>([
    ['is asleep when all that can sleep does', { workloads: [asleep] }, 'Asleep'],
    ['is awake while one of them runs', { workloads: [asleep, shop(1, {}, { name: 'b', uid: 'b' })] }, 'Awake'],
    [
      'is asleep beside a workload that is annotated never to sleep',
      { workloads: [asleep, shop(1, { 'sojourn.dev/sleep': 'false' })] },
      'Asleep',
    ],
    [
      'is asleep beside a workload that its class excludes',
      {
        spec: { sleep: { exclude: [{ matchLabels: { tier: 'cache' } }] } },
        workloads: [asleep, shop(1, {}, { labels: { tier: 'cache' } })],
      },
      'Asleep',
    ],
    [
      'is asleep beside what another controller scales',
      {
        workloads: [
          asleep,
          shop(1, {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }] }),
        ],
      },
      'Asleep',
    ],
    ['is awake when all are excluded', { workloads: [shop(1, { 'sojourn.dev/sleep': 'false' })] }, 'Awake'],
    ['is awake with nothing in it', { workloads: [] }, 'Awake'],
    ['is awake with a workload that was at zero before', { workloads: [shop(0)] }, 'Awake'],
  ])('%s', (_, given, power) => expect(statusOf(given).power).toBe(power))
})

describe('the use of an environment', () => {
  const unused: Given['spec'] = { sleep: { idleAfter: '30m' }, delete: { after: '7d' } }
  const visible = ({ conditions }: EnvironmentStatus) => findCondition(conditions, 'UseVisible')

  it('is seen through a Service that the activator serves', () => {
    expect(visible(statusOf({ spec: unused, services: [routed] }))).toMatchObject({ status: 'True' })
  })

  it.each([
    ['without a Service', [], 'annotate one with proxless/deployment'],
    ['while the activator has not said that it serves one', [service()], 'annotate one with proxless/deployment'],
    [
      'through a Service that the activator refuses',
      [service({ status: 'False', message: 'proxless/deployment: is missing' })],
      'Service web: proxless/deployment: is missing',
    ],
  ])('is not seen %s, and holds the deletion', (_, services, why) => {
    const long = { status: { lastUsedAt: at(now - 30 * day), deployed: { hash: '', at: at(now - 30 * day) } } }
    const status = statusOf({ spec: { ...unused, use: ['Traffic'] }, services, ...long })
    expect(visible(status)).toMatchObject({ status: 'False', message: expect.stringContaining(why) as string })
    expect(status).toMatchObject({
      phase: 'Held',
      message: expect.stringContaining(`held: its use cannot be seen: `) as string,
    })
    expect(status.announcement).toBeUndefined()
  })
})

describe('a request soon after the last one', () => {
  const deleted = (after: string, warnBefore: string): Given => ({
    spec: { sleep: { idleAfter: '30m' }, delete: { after, warnBefore } },
    services: [routed],
    workloads: [usedAt(now - minute)],
  })
  const before = (ms: number): EnvironmentStatus => ({
    lastUsedAt: at(now - ms),
    lastUsedBy: 'Traffic',
    deployed: { hash: statusOf(deleted('7d', '1d')).deployed!.hash, at: created },
  })

  it('is not written while no deletion is near: each would be a write', () => {
    const given = { ...deleted('7d', '1d'), status: before(5 * minute) }
    expect(statusOf(given).lastUsedAt).toBe(at(now - 5 * minute))
  })

  it('moves a date that is near: what is in use is not announced', () => {
    const status = statusOf({ ...deleted('4m', '1m'), status: before(5 * minute) })
    expect(status.lastUsedAt).toBe(at(now - minute))
    expect(status.announcement).toBeUndefined()
  })

  it('withdraws an announcement', () => {
    const announcement = { reason: 'unused', date: at(now + day), writtenAt: at(now), generation: 1 } as const
    const status = statusOf({ ...deleted('7d', '1d'), status: { ...before(5 * minute), announcement } })
    expect(status.lastUsedAt).toBe(at(now - minute))
    expect(status.announcement).toBeUndefined()
  })
})

describe('a condition that stays true', () => {
  it.each<[string, Given]>([
    ['LimitExceeded', { around: { isBeyondLimit: true } }],
    ['Contended', { workloads: [shop(2, { 'sojourn.dev/contended': 'argocd scaled it up' })] }],
  ])('%s keeps its time: each look would be a write otherwise', (type, given) => {
    const status = statusOf(given)
    const conditions = status.conditions?.map((each) => ({ ...each, lastTransitionTime: created })) ?? []
    const again = statusOf({ ...given, status: { ...status, conditions } })
    expect(findCondition(again.conditions, type)?.lastTransitionTime).toBe(created)
  })
})

describe('the message of an environment', () => {
  const pull = { url: 'https://git.example.org/acme/shop/pulls/42', seen: undefined }
  const spec: Given['spec'] = { delete: { after: '7d' } }

  it('says beforehand that the deletion will be held, and why', () => {
    const problem = { reason: 'NotAllowed', message: 'no forge allows it' }
    const { message } = statusOf({ spec, around: { pull: { ...pull, problem } } })
    expect(message).toMatch(/^will be deleted on .*; held while the pull request cannot be read: no forge allows it$/)
  })

  it('says that a use moves the date, until the owner was told', () => {
    expect(statusOf({ spec }).message).toMatch(/^will be deleted on \S+ unless it is used before; last use \S+/)
  })

  it('says nothing of the pull request before it was read', () => {
    expect(statusOf({ spec, around: { pull } }).message).not.toContain('held')
  })

  it.each([
    ['LastUsed', true],
    ['Created', false],
    ['LastDeployed', false],
  ] as const)('says that a use moves the date only where it does: since %s', (since, isMoved) => {
    const status = { lastUsedAt: at(now - hour), deployed: { hash: '', at: at(now - hour) } }
    const { message = '' } = statusOf({ spec: { delete: { after: '7d', since } }, status })
    expect(message.includes('unless it is used before')).toBe(isMoved)
  })

  it('names the writer that keeps a workload awake', () => {
    const status = statusOf({ workloads: [shop(2, { 'sojourn.dev/contended': 'argocd scaled it up' })] })
    expect(findCondition(status.conditions, 'Contended')).toMatchObject({
      status: 'True',
      message: 'argocd scaled it up',
    })
    expect(findCondition(statusOf({ status }).conditions, 'Contended')).toBeUndefined()
  })
})
