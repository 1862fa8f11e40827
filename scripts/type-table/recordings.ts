import type { KubeObject } from '../../src/kube/object.ts'
import { collectionOf, definition, type Answer, type Asker } from './asker.ts'

type Recording<T> = (asker: Asker, requests: T) => Promise<T>

interface Step {
  readonly op: 'create' | 'apply' | 'merge' | 'smp' | 'put'
  readonly body: KubeObject
  readonly manager: string
  readonly force?: boolean
  readonly sub?: string
}

/** How each file is asked for again: its requests stay, its answers are replaced. */
export const recordings = {
  'invalid-objects': (async (asker, cases) =>
    inTurn(cases, async ({ object }) => ({
      object,
      causes: causesOf(await asker.create(object)),
    }))) satisfies Recording<{ object: KubeObject; causes: readonly object[] }[]>,

  'defaulted-objects': (async (asker, cases) =>
    inTurn(cases, async ({ object }) => ({
      object,
      stored: stripped((await asker.create(object)).body),
    }))) satisfies Recording<{ object: KubeObject; stored: KubeObject }[]>,

  'decoded-bodies': (async (asker, cases) =>
    inTurn(cases, async ({ text }) => {
      const path = collectionOf(JSON.parse(text) as KubeObject)
      const { code, body } = await asker.ask('POST', `${path}?dryRun=All&fieldValidation=Strict`, text)
      return code === 400 && body.message ? { text, message: body.message } : { text }
    })) satisfies Recording<{ text: string; message?: string }[]>,

  'invalid-schemas': (async (asker, cases) =>
    inTurn(cases, async ({ schema }) => {
      const crd = definition({ plural: 'tests', kind: 'Test', schema })
      return { schema, causes: causesOf(await asker.create(crd)) }
    })) satisfies Recording<{ schema: unknown; causes: readonly object[] }[]>,

  'custom-resources': (async (asker, { schema, cases }) => {
    await asker.define('bigs', 'Big', schema)
    const answered = await inTurn(cases, async ({ spec }) => {
      const answer = await asker.create({
        apiVersion: 'ex.io/v1',
        kind: 'Big',
        metadata: { name: 't', namespace: 'default' },
        spec,
      })
      return answer.code < 300 ? { spec, stored: answer.body.spec } : { spec, causes: causesOf(answer) }
    })
    return { schema, cases: answered }
  }) satisfies Recording<{ schema: unknown; cases: { spec: unknown; stored?: unknown; causes?: readonly object[] }[] }>,

  'strategic-merge': (async (asker, { original, cases }) => {
    const path = `${collectionOf(original)}/${original.metadata.name}`
    const answered = await inTurn(cases, async ({ patch }) => {
      await asker.remove(path)
      await asker.create(original, '')
      const { code, body } = await asker.patch(path, 'strategic', patch)
      return code < 300 ? { patch, result: stripped(body) } : { patch, message: body.message ?? '' }
    })
    return { original, cases: answered }
  }) satisfies Recording<{ original: KubeObject; cases: { patch: unknown; result?: unknown; message?: string }[] }>,

  'server-side-apply': (async (asker, { customSchema, scenarios }) => {
    await asker.define('foos', 'Foo', customSchema)
    const answered = await inTurn(scenarios, (scenario) => replayed(asker, scenario))
    return { customSchema, scenarios: answered.map(inStepTime) }
  }) satisfies Recording<{ customSchema: unknown; scenarios: { steps: Step[] }[] }>,
}

async function replayed<T extends { steps: Step[] }>(asker: Asker, scenario: T): Promise<T> {
  const first = scenario.steps[0]?.body
  if (!first) return scenario
  const path = `${collectionOf(first)}/${first.metadata.name}`
  await asker.remove(path)
  const steps = await inTurn(scenario.steps, async ({ op, body, manager, force, sub }) => {
    const asked = { op, body, manager, ...(force ? { force } : {}), ...(sub ? { sub } : {}) }
    const answer = await send(asker, asked, path)
    if (answer.code >= 300) return { ...asked, error: { message: answer.body.message, causes: causesOf(answer) } }
    const { body: stored } = await asker.ask('GET', path)
    const { managedFields } = stored.metadata
    const after = stripped(stored)
    const owners = managedFields ? { managedFields } : {}
    return { ...asked, after: { ...after, metadata: { ...after.metadata, ...owners, uid: 'u', resourceVersion: '1' } } }
  })
  return { ...scenario, steps }
}

async function send(asker: Asker, { op, body, manager, force, sub }: Step, path: string): Promise<Answer> {
  const query = `fieldManager=${manager}`
  const at = sub ? `${path}/${sub}` : path
  switch (op) {
    case 'create':
      return asker.create(body, query)
    case 'apply':
      return asker.patch(`${at}?${query}&force=${force === true}`, 'apply', body)
    case 'merge':
      return asker.patch(`${at}?${query}`, 'merge', body)
    case 'smp':
      return asker.patch(`${at}?${query}`, 'strategic', body)
    case 'put': {
      const { resourceVersion } = (await asker.ask('GET', path)).body.metadata
      const object = { ...body, metadata: { ...body.metadata, resourceVersion } }
      return asker.ask('PUT', `${at}?${query}`, JSON.stringify(object))
    }
  }
}

/** The same with times of its own: a recording should differ only where answers do. */
function inStepTime<T>(scenario: T): T {
  const text = JSON.stringify(scenario)
  const times = [...new Set([...text.matchAll(/"time":"([^"]+)"/g)].map(([, time = '']) => time))].toSorted((a, b) =>
    a < b ? -1 : 1,
  )
  const place = (time: string): string => String(times.indexOf(time)).padStart(2, '0')
  return JSON.parse(
    text.replaceAll(/"time":"([^"]+)"/g, (_, time: string) => `"time":"2026-01-01T00:00:${place(time)}Z"`),
  ) as T
}

function causesOf({ code, body }: Answer): readonly object[] {
  return code >= 300 ? (body.details?.causes ?? []) : []
}

/** The object without what is different at every run. */
function stripped(object: KubeObject): KubeObject {
  const {
    uid: _,
    resourceVersion: _version,
    creationTimestamp: _created,
    generation: _generation,
    managedFields: _managed,
    ...metadata
  } = object.metadata
  const { lastPhaseTransitionTime: _moved, ...status } = (object.status ?? {}) as Record<string, unknown>
  return { ...object, metadata, ...(object.status ? { status } : {}) }
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}
