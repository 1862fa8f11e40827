import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureTool, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { bond } from '../../src/apis/bond.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import { cleanupOptOut } from '../../src/apis/cleanup-opt-out.ts'
import { cleanupPolicy } from '../../src/apis/cleanup-policy.ts'
import { conditionalTtl } from '../../src/apis/conditional-ttl.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import { providerAccount } from '../../src/apis/provider-account.ts'
import { workSchedule } from '../../src/apis/work-schedule.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { healthStatus, type Health } from '../../src/kube/conditions.ts'
import { secrets } from '../../src/kube/core-types.ts'
import { bondController } from '../../src/systems/collector/bonds/bond-controller.ts'
import { startCleaner, type CleanerProcess } from '../cleaners.ts'
import { startJanitorWorld, type JanitorWorld } from '../janitor/janitor-world.ts'

const missing = await whyUnavailable('kstatus')
if (missing) console.warn(`\n*** Tests of kstatus are SKIPPED: ${missing}\n`)

/** What kstatus, by which Flux and Helm wait, says about each object. */
async function kstatus(...objects: readonly KubeObject[]): Promise<readonly string[]> {
  const input = objects.map((object) => JSON.stringify(object)).join('\n')
  return execFileSync(await ensureTool('kstatus'), { input, encoding: 'utf8' })
    .trim()
    .split('\n')
}

let world: JanitorWorld
let running: CleanerProcess

beforeEach(async () => {
  world = await startJanitorWorld()
  running = await startCleaner(world)
  world.run(bondController({ ...world }))
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

/** Creates the object, lets the controllers work, and asks kstatus. */
async function judged(kind: { apiVersion: string; kind: string; scope: string }, spec: object) {
  const { apiVersion, kind: name, scope } = kind
  const metadata = { name: 'it', ...(scope === 'Namespaced' ? { namespace: 'team' } : {}) }
  await world.create({ apiVersion, kind: name, metadata, spec })
  await world.pass(5000)
  const stored = await world.get<StoredObject>({ apiVersion, kind: name, ...metadata })
  if (!stored) throw new Error(`${name} is gone`)
  const { observedGeneration, conditions } = stored.status as {
    observedGeneration?: number
    conditions?: { type: string }[]
  }
  expect(observedGeneration).toBe(stored.metadata.generation)
  expect(conditions?.map(({ type }) => type)).toContain('Ready')
  return kstatus(stored)
}

describe.skipIf(missing)('kstatus', () => {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
  const named = { name: 'a', delete: false, includeWhenEvaluating: true, reference: { ...configMap, name: 'a' } }
  const widget = { ...named, reference: { apiVersion: 'example.org/v1', kind: 'Widget', name: 'a' } }

  it.each<[string, object, string]>([
    ['waits for its TTL', { ttl: '24h' }, 'Current'],
    ['waits for a condition', { ttl: '0s', conditions: ['false'] }, 'Current'],
    ['waits for a target', { ttl: '0s', targets: [named] }, 'InProgress'],
    ['waits for a kind', { ttl: '0s', targets: [widget] }, 'InProgress'],
    ['cannot evaluate a condition', { ttl: '0s', conditions: ['[][0] == 1'] }, 'InProgress'],
    ['has a condition that is no boolean', { ttl: '0s', conditions: ['dyn(1)'] }, 'Failed'],
    ['has a condition that cannot be compiled', { ttl: '0s', conditions: ['nope'] }, 'Failed'],
    ['has an invalid spec', { ttl: 'soon' }, 'Failed'],
  ])('says of a Cleaner and a ConditionalTTL that %s: %j, %s', async (_, spec, expected) => {
    expect(await judged(cleaner, spec)).toEqual([expected])
    expect(await judged(conditionalTtl, spec)).toEqual([expected])
  })

  it.each<[string, object, string]>([
    ['is suspended', { ttl: '0s', suspend: true }, 'Current'],
    ['is a dry run', { ttl: '0s', dryRun: true }, 'Current'],
    ['names a schedule that does not exist', { ttl: '0s', schedule: 'nowhere' }, 'Current'],
    [
      'refers beyond its namespace',
      {
        ttl: '0s',
        targets: [{ ...named, reference: { ...configMap, apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' } }],
      },
      'Failed',
    ],
  ])('says of a Cleaner that %s: %j, %s', async (_, spec, expected) => {
    expect(await judged(cleaner, spec)).toEqual([expected])
  })

  it('says of a changed object that it is in progress until the change is seen', async () => {
    await judged(cleaner, { ttl: '24h' })
    const stored = await world.get<StoredObject>({ ...cleaner, namespace: 'team', name: 'it' })
    expect(await kstatus({ ...stored!, metadata: { ...stored!.metadata, generation: 2 } })).toEqual(['InProgress'])
  })

  const bound = (onDelete: string, namespace: string) => ({
    dependent: { ...configMap, name: 'app' },
    dependency: { ...configMap, namespace, name: 'database' },
    onDelete,
  })

  it.each<[string, object, string]>([
    ['has no dependency yet', bound('Cascade', 'nowhere'), 'InProgress'],
    ['is in force', bound('Cascade', 'platform'), 'Current'],
    ['has no permission', bound('Hold', 'platform'), 'Failed'],
  ])('says of a Bond that %s: %j, %s', async (_, spec, expected) => {
    await world.create({ ...configMap, metadata: { name: 'database', namespace: 'platform' } })
    await world.configMap('app')
    expect(await judged(bond, spec)).toEqual([expected])
  })

  it.each<[string, { apiVersion: string; kind: string; scope: string }, object, string]>([
    ['WorkSchedule', workSchedule, { windows: [{ days: ['Monday'] }] }, 'Current'],
    ['WorkSchedule', workSchedule, { windows: [{ days: ['Monday'] }], timeZone: 'Mars/Olympus' }, 'Failed'],
    ['NotificationChannel', notificationChannel, { type: 'event' }, 'Current'],
    ['NotificationChannel', notificationChannel, { type: 'smtp' }, 'Failed'],
    ['NotificationChannel', notificationChannel, { type: 'slack', slack: { secretRef: { name: 's' } } }, 'InProgress'],
    ['ProviderAccount', providerAccount, { provider: 'aws', regions: ['eu-central-1'] }, 'Current'],
    [
      'ProviderAccount',
      providerAccount,
      { provider: 'aws', regions: ['eu-central-1'], secretRef: { name: 's' } },
      'InProgress',
    ],
    ['CleanupOptOut', cleanupOptOut, { resource: { ...configMap, namespace: 'team', name: 'a' } }, 'Current'],
    [
      'CleanupOptOut',
      cleanupOptOut,
      { resource: { ...configMap, namespace: 'team', name: 'a' }, expiresAt: '2020-01-01T00:00:00Z' },
      'Current',
    ],
  ])('says of a %s that is %#: %s %s', async (_, kind, spec, expected) => {
    expect(await judged(kind, spec)).toEqual([expected])
  })

  it('sees that a Secret was created later', async () => {
    expect(await judged(providerAccount, { provider: 'aws', regions: ['r'], secretRef: { name: 's' } })).toEqual([
      'InProgress',
    ])
    await world.client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'sojourn-system' },
    })
    await world.pass(2 * 60_000)
    expect(await kstatus((await world.get<StoredObject>({ ...providerAccount, name: 'it' }))!)).toEqual(['Current'])
  })

  it.each<[string, object, string]>([
    ['works', {}, 'Current'],
    ['is suspended', { suspend: true }, 'Current'],
    ['is invalid', { scheduleRef: 'nowhere' }, 'Failed'],
  ])('says of a CleanupPolicy that %s: %j, %s', async (_, spec, expected) => {
    const { metadata } = await world.policy(spec)
    await world.pass(60_000)
    const stored = await world.get<StoredObject>({ ...cleanupPolicy, name: metadata.name })
    expect(stored?.status).toMatchObject({ observedGeneration: 1 })
    expect(await kstatus(stored!)).toEqual([expected])
  })

  it.each<[Health, string]>([
    ['ready', 'Current'],
    ['reconciling', 'InProgress'],
    ['not-ready', 'InProgress'],
    ['stalled', 'Failed'],
  ])('reads %s in the status of any kind as %s', async (health, expected) => {
    const objects = allKinds.map(({ apiVersion, kind }) => {
      const object = { apiVersion, kind, metadata: { name: 'it', generation: 3 } }
      return { ...object, status: healthStatus(object, { health, reason: 'Because', message: '' }, 0) }
    })
    expect(new Set(await kstatus(...objects))).toEqual(new Set([expected]))
  })

  it('takes records, which only Sojourn writes, as they are', async () => {
    const records = allKinds.filter(({ kind }) =>
      ['Departure', 'UsageLedger', 'SavingsReport', 'CleanupCandidate'].includes(kind),
    )
    const phases = ['Recorded', 'Leaving', 'Gone', 'Marked', 'Notified', 'Failed']
    const objects = records.flatMap(({ apiVersion, kind }) =>
      phases.map((phase) => ({ apiVersion, kind, metadata: { name: 'it', generation: 1 }, status: { phase } })),
    )
    expect(new Set(await kstatus(...objects))).toEqual(new Set(['Current']))
  })
})
