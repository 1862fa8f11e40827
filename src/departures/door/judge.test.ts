import { describe, expect, it } from 'vitest'
import type { Bond } from '../../apis/bond.ts'
import type { CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import type { KubeObject, ObjectMeta } from '../../kube/object.ts'
import { judge, type DepartureFacts } from './judge.ts'

const now = Date.parse('2026-11-16T12:00:00Z')
const closed = { breaker: 'closed', paused: false, dryRun: false, circuits: {} } as const
const nothing = { cluster: '', optOuts: [], bonds: [] }
const meta = { name: 'x', uid: 'u1', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' }

function object(metadata: ObjectMeta = {}, rest: Partial<KubeObject> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...meta, namespace: 'team', ...metadata }, ...rest }
}

function wish(given: Partial<DepartureFacts>): DepartureFacts {
  return {
    object: object(),
    uid: 'u1',
    protections: nothing,
    state: closed,
    dryRun: undefined,
    schedules: [],
    now,
    ...given,
  }
}

function optOut(spec: CleanupOptOut['spec'], metadata: ObjectMeta = {}): CleanupOptOut {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'CleanupOptOut',
    metadata: { ...meta, name: 'o', ...metadata },
    spec,
  }
}

function bond(onDelete: 'Deny' | 'Hold'): Bond {
  const end = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' }
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { ...meta, name: 'b', namespace: 'team' },
    spec: { dependent: end, dependency: end, onDelete },
  }
}

const spared = { resource: { kind: 'configmap', namespace: 'team', name: 'x' } }
const atNight = { windows: [{ days: ['Monday' as const], start: '22:00', end: '23:00' }] }

describe('judge', () => {
  it('lets go what nothing speaks for', () => expect(judge(wish({}))).toEqual({ result: 'allowed' }))

  it.each<[string, Partial<DepartureFacts>, object]>([
    ['counts what is gone as gone', { object: undefined }, { result: 'gone' }],
    ['keeps another object under the same name', { object: object({ uid: 'u2' }) }, { result: 'stale' }],
    ['keeps a version it has not judged', { resourceVersion: '6' }, { result: 'stale' }],
    ['does not delete twice', { object: object({ deletionTimestamp: '2026-11-16T11:00:00Z' }) }, { result: 'leaving' }],
    [
      'holds when protections cannot be known',
      { protections: undefined },
      { result: 'held', because: 'protections-unknown' },
    ],
    [
      'holds when its switches cannot be known',
      { state: undefined },
      { result: 'held', because: 'protections-unknown' },
    ],
    ['holds in a dry run', { dryRun: 'here' }, { result: 'held', because: 'dry-run', detail: 'here' }],
    [
      'holds in a dry run by its switch',
      { state: { ...closed, dryRun: true } },
      {
        result: 'held',
        because: 'dry-run',
        detail: 'dryRun is set in the ConfigMap sojourn-system/sojourn-door',
      },
    ],
    ['holds while paused', { state: { ...closed, paused: true } }, { result: 'held', because: 'paused' }],
    [
      'holds while the breaker is open',
      { state: { ...closed, breaker: 'open' } },
      { result: 'held', because: 'breaker-open' },
    ],
    [
      'holds while the breaker of its namespace is open',
      { scope: 'team', state: { ...closed, circuits: { team: 'too many' } } },
      { result: 'held', because: 'breaker-open', detail: 'too many' },
    ],
    [
      'allows what is in another namespace than the open breaker',
      { scope: 'other', state: { ...closed, circuits: { team: 'too many' } } },
      { result: 'allowed' },
    ],
    [
      'holds outside the window, until it opens',
      { schedules: [{ name: 'night', spec: atNight }] },
      {
        result: 'held',
        because: 'outside-window',
        detail: 'WorkSchedule night',
        until: Date.parse('2026-11-16T22:00:00Z'),
      },
    ],
    [
      'holds when a schedule is missing, and names it',
      { schedules: [{ name: 'night', spec: undefined }] },
      { result: 'held', because: 'no-such-schedule', detail: 'night' },
    ],
    [
      'holds when a schedule cannot be read, which does not mean that it is missing',
      { schedules: [{ name: 'night', spec: 'unknown' }] },
      { result: 'held', because: 'protections-unknown' },
    ],
    [
      'keeps what a label keeps',
      { object: object({ labels: { 'sojourn.dev/keep': 'true' } }) },
      { result: 'refused', because: 'keep-mark' },
    ],
    [
      'keeps what an annotation keeps, whatever its value',
      { object: object({ annotations: { 'sojourn.dev/keep': '' } }) },
      { result: 'refused', because: 'keep-mark' },
    ],
    [
      'keeps what never expires',
      { object: object({ annotations: { expiration_time: 'never' } }) },
      { result: 'refused', because: 'never-expires' },
    ],
    [
      'keeps what a tag in capitals says',
      { object: object({ labels: { expiration_time: 'NEVER' } }) },
      { result: 'refused', because: 'never-expires' },
    ],
    [
      'keeps what is opted out',
      { protections: { ...nothing, optOuts: [optOut(spared)] } },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'names the opt-out rather than the mark that it left',
      {
        object: object({ annotations: { expiration_time: 'never' } }),
        protections: { ...nothing, optOuts: [optOut(spared)] },
      },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'keeps what is opted out, even in a dry run',
      { dryRun: 'here', protections: { ...nothing, optOuts: [optOut(spared)] } },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'keeps what an opt-out selects by label',
      {
        object: object({ labels: { tier: 'gold' } }),
        protections: {
          ...nothing,
          optOuts: [optOut({ selector: { kind: 'ConfigMap', labels: { matchLabels: { tier: 'gold' } } } })],
        },
      },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'keeps what an opt-out may mean whose selector cannot be read',
      {
        protections: {
          ...nothing,
          optOuts: [
            optOut({
              selector: { kind: 'ConfigMap', labels: { matchExpressions: [{ key: 'tier', operator: 'In' }] } },
            } as never),
          ],
        },
      },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'keeps when the end of an opt-out is unreadable',
      { protections: { ...nothing, optOuts: [optOut({ ...spared, expiresAt: 'soon' })] } },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'keeps what a Bond denies',
      { protections: { ...nothing, bonds: [bond('Deny')] } },
      { result: 'refused', because: 'bond-denies', detail: 'Bond team/b' },
    ],
    [
      'keeps a cloud resource that is opted out by account and region',
      {
        object: { ...object({ name: 'ami-1', namespace: '' }), kind: 'Image' },
        protections: {
          ...nothing,
          cluster: 'aws:prod:eu-west-1',
          optOuts: [
            optOut({ resource: { provider: 'aws', account: 'prod', region: 'eu-west-1', kind: 'image', id: 'ami-1' } }),
          ],
        },
      },
      { result: 'refused', because: 'opted-out', detail: 'CleanupOptOut o' },
    ],
    [
      'waits for what a Bond holds',
      { protections: { ...nothing, bonds: [bond('Hold')] } },
      { result: 'held', because: 'bond-holds', detail: 'Bond team/b' },
    ],
    [
      'keeps what is in kube-system',
      { object: object({ namespace: 'kube-system' }) },
      { result: 'refused', because: 'system-namespace' },
    ],
    [
      'keeps the default namespace',
      { object: { apiVersion: 'v1', kind: 'Namespace', metadata: { ...meta, name: 'default' } } },
      { result: 'refused', because: 'system-namespace' },
    ],
    [
      'keeps its own records',
      { object: { ...object(), apiVersion: 'sojourn.dev/v1alpha1', kind: 'Departure' } },
      { result: 'refused', because: 'own-machinery' },
    ],
    [
      'keeps its own definitions',
      {
        object: {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { ...meta, name: 'bonds.sojourn.dev' },
        },
      },
      { result: 'refused', because: 'own-machinery' },
    ],
  ])('%s', (_, given, expected) => expect(judge(wish(given))).toEqual(expected))

  it.each<[string, Partial<DepartureFacts>]>([
    ['a keep mark that says false', { object: object({ labels: { 'sojourn.dev/keep': 'false' } }) }],
    [
      'an opt-out that has ended',
      { protections: { ...nothing, optOuts: [optOut({ ...spared, expiresAt: '2026-11-16T11:00:00Z' })] } },
    ],
    [
      'an opt-out that was revoked',
      { protections: { ...nothing, optOuts: [optOut(spared, { deletionTimestamp: '2026-11-16T11:00:00Z' })] } },
    ],
    [
      'an opt-out for another namespace',
      {
        protections: {
          ...nothing,
          optOuts: [optOut({ resource: { kind: 'ConfigMap', namespace: 'other', name: 'x' } })],
        },
      },
    ],
    [
      'an opt-out for another cluster',
      { protections: { ...nothing, optOuts: [optOut({ resource: { ...spared.resource, cluster: 'far' } })] } },
    ],
    ['an opt-out that names nothing', { protections: { ...nothing, optOuts: [optOut({})] } }],
    ['the version it has judged', { resourceVersion: '7' }],
  ])('is not stopped by %s', (_, given) => expect(judge(wish(given))).toEqual({ result: 'allowed' }))
})
