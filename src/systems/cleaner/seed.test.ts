import { secrets } from '../../kube/core-types.ts'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parse } from 'yaml'
import { hour, releaseHolder, startCleaner, type CleanerProcess } from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import type { Cleaner } from '../../apis/cleaner.ts'
import type { KubeObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'

const namespace = 'faststore-proxy'
const name = 'sfj-commit--account'
const self = { apiVersion: 'cleaner.vtex.dev/v1alpha', kind: 'Cleaner', namespace, name }
const services = { group: 'serving.knative.dev', version: 'v1', kind: 'Service', plural: 'services', namespaced: true }
const revisions = { ...services, kind: 'Revision', plural: 'revisions' }

let world: World
let running: CleanerProcess

beforeEach(async () => {
  world = await startWorld()
  running = await startCleaner(world)
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  for (const type of [services, revisions]) await world.create(definitionOf(type))
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

function definitionOf({ group, kind, plural }: typeof services): KubeObject {
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: free } }],
    },
  }
}

const service = (of: string): KubeObject => ({
  apiVersion: 'serving.knative.dev/v1',
  kind: 'Service',
  metadata: {
    namespace,
    name: of,
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': name, 'meta.helm.sh/release-namespace': namespace },
  },
  spec: {},
})

/** A revision of the proxy, as Knative keeps it: where it is routed, and whether it is in use. */
async function revision(number: number, routes: string, active: boolean): Promise<void> {
  const place = { namespace, name: `${name}-0000${number}` }
  const condition = {
    type: 'Active',
    status: active ? 'True' : 'False',
    lastTransitionTime: formatTime(world.clock.now()),
  }
  const body = {
    metadata: { annotations: { 'serving.knative.dev/routes': routes }, labels: { 'vtex.io/proxy': 'proxy-1' } },
    status: { conditions: [condition] },
  }
  const there = await world.get({ apiVersion: 'serving.knative.dev/v1', kind: 'Revision', ...place })
  if (there) await world.client.patch(revisions, place, { type: 'merge', body })
  else
    await world.create({
      apiVersion: 'serving.knative.dev/v1',
      kind: 'Revision',
      ...body,
      metadata: { ...body.metadata, ...place },
    })
}

const statusOf = async () => (await world.get<Cleaner>(self))?.status
const namesOf = async (type: typeof services) =>
  (await world.client.list(type, { namespace })).items.map(({ metadata }) => metadata.name)
const later = (ms: number) => formatTime(world.clock.now() + ms)

it('runs the founding manifest from creation to deletion', async () => {
  const parts = [service(name), service(`${name}-node`)]
  for (const each of parts) await world.create(each)
  await world.create(releaseHolder({ name, objects: parts }, { namespace }))
  await revision(1, 'sfj-1--account,preview-1--account', false)
  await revision(2, 'sfj-2--account', true)
  const { status: _, ...manifest } = parse(
    readFileSync(new URL('testdata/seed-cleaner.yaml', import.meta.url), 'utf8'),
  ) as KubeObject
  await world.create(manifest)

  // Not before its time, which is told.
  const expires = later(360 * hour)
  await world.pass(359 * hour)
  expect(await statusOf()).toMatchObject({ conditions: [{ reason: 'NotExpired' }], nextScheduledEvaluation: expires })

  // A revision is in use: nothing leaves, and no hour of the day will change that, only the revision can.
  await world.pass(hour + 1000)
  const inUse = await statusOf()
  expect(inUse?.resolvedTargets).toEqual(
    [1, 2].map((number) => `${name}-0000${number}.revisions.serving.knative.dev/v1`),
  )
  // The seed: if no time is found, it falls back to periodic retries.
  expect(inUse?.nextScheduledEvaluation).toBe(later(5 * hour - 1000))
  await world.pass(50 * hour)
  expect(await namesOf(services)).toHaveLength(2)

  // It goes out of use: seen at once, and the instant from which on nothing is in the way is computed.
  await world.pass(hour)
  await revision(2, 'sfj-2--account', false)
  const idle = later(360 * hour)
  await world.pass(1000)
  expect((await statusOf())?.nextScheduledEvaluation).toBe(idle)

  // A user routes a real domain to the older one in the meantime, and removes it again.
  await world.pass(100 * hour)
  await revision(1, 'sfj-1--account,www-shop', false)
  await world.pass(300 * hour)
  expect(await namesOf(services)).toHaveLength(2)
  await revision(1, 'sfj-1--account', false)
  const routedAway = later(360 * hour)
  await world.pass(1000)
  expect((await statusOf())?.nextScheduledEvaluation).toBe(routedAway)

  // Then all of it leaves: the release with its services and record, and the Cleaner.
  await world.pass(361 * hour)
  expect(await world.get(self)).toBeUndefined()
  expect(await namesOf(services)).toEqual([])
  expect(await namesOf(secrets)).toEqual([])
  // Not targets: Knative deletes these with their service.
  expect(await namesOf(revisions)).toHaveLength(2)
})
