import { expect } from 'vitest'
import { departure, type Departure } from '../../src/apis/departure.ts'
import type { Client } from '../../src/client/client.ts'
import { restore } from '../../src/departures/restore/restore.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import type { Around } from './around.ts'
import type { Example, Step } from './example.ts'
import type { Stage } from './stage.ts'

/** Applies an example and goes through its steps; throws where something is not as expected. */
export async function play(example: Example, stage: Stage, around?: Around): Promise<void> {
  const { client } = stage
  await applyAll(client, [...example.manifests, ...(around?.manifests ?? [])])
  for (const step of example.steps) {
    if (step.apply !== undefined) await applyAll(client, example.file(step.apply))
    if (step.restore) await restoreNow(stage, step.restore)
    if (step.request)
      expect(await stage.ask(step.request.host, step.request.tls ? (around?.ca ?? '') : undefined)).toBe(
        step.request.answers,
      )
    await stage.see(step, async () => {
      await check(client, step)
      await around?.check?.(step)
    })
  }
}

async function restoreNow({ client }: Stage, wanted: NonNullable<Step['restore']>): Promise<void> {
  const { items } = await client.list<Departure>(departure.type)
  const isWanted = ({ spec: { object, page } }: Departure) =>
    !page && object.kind === wanted.kind && object.name === wanted.name
  const record = items.find(isWanted)
  if (!record) throw new Error(`there is no record of ${wanted.kind} ${wanted.name}`)
  await restore(client, record, { now: Date.parse(record.spec.recordedAt) })
}

async function applyAll(client: Client, manifests: readonly KubeObject[]): Promise<void> {
  for (const manifest of manifests) await client.apply(await typeOf(client, manifest), manifest, { force: true })
}

async function check(client: Client, { exists = [], gone = [], count = [], departed = [] }: Step): Promise<void> {
  for (const expected of exists) expect(await read(client, expected), nameOf(expected)).toEqual(atLeast(expected))
  for (const expected of gone) expect(await read(client, expected), `${nameOf(expected)} is gone`).toBeUndefined()
  for (const { is, namespace, ...kind } of count) {
    const { items } = await client.list(await typeOf(client, kind), namespace === undefined ? {} : { namespace })
    expect(
      items.map(({ metadata }) => metadata.name),
      `${kind.kind}s`,
    ).toHaveLength(is)
  }
  if (departed.length === 0) return
  const { items } = await client.list<Departure>(departure.type)
  expect(items.map(({ spec }) => spec)).toEqual(atLeast(departed))
}

async function read(client: Client, wanted: KubeObject): Promise<StoredObject | undefined> {
  const { namespace, name = '' } = wanted.metadata
  const place = placeOf({ name, namespace })
  return client.get(await typeOf(client, wanted), place).catch(ignoring('NotFound'))
}

async function typeOf(client: Client, kind: Pick<KubeObject, 'apiVersion' | 'kind'>): Promise<ResourceType> {
  const type = await client.discovery.typeOf(kind)
  if (!type) throw new Error(`the server does not serve ${kind.apiVersion} ${kind.kind}`)
  return type
}

/** Matches whatever has at least this: of a map these fields, of a list these elements in any order. */
function atLeast(expected: unknown): unknown {
  if (Array.isArray(expected)) return expect.arrayContaining(expected.map(atLeast)) as unknown
  if (typeof expected !== 'object' || expected === null) return expected
  return expect.objectContaining(
    Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, atLeast(value)])),
  ) as unknown
}

function nameOf(object: KubeObject): string {
  return describeRef(refOf(object as StoredObject))
}
