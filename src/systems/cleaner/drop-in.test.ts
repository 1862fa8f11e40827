import { events } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { conditionalTtl, type ConditionalTtl } from '../../apis/conditional-ttl.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { configMap, left, minute, startCleaner, type CleanerProcess } from '../../../test/cleaners.ts'

let world: World
let running: CleanerProcess
let told: { headers: Record<string, string>; body: string }[]
/** The finalizers of each version of the object that was written, one list after the other. */
let finalizers: (readonly string[])[]
beforeEach(async () => {
  world = await startWorld()
  told = []
  finalizers = []
  running = await startCleaner(world, {
    send: (_, event) => Promise.resolve(void told.push(event)),
    through: (transport) => async (request) => {
      const answer = await transport(request)
      if (request.method === 'PATCH' && request.path.endsWith('/conditionalttls/t'))
        finalizers.push((answer.body as KubeObject).metadata.finalizers ?? [])
      return answer
    },
  })
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

const ref = { apiVersion: 'cleaner.vtex.io/v1alpha1', kind: 'ConditionalTTL', namespace: 'team', name: 't' }

function conditionalTtlOf(spec: object): KubeObject {
  const { apiVersion, kind, namespace, name } = ref
  return { apiVersion, kind, metadata: { namespace, name }, spec: { ttl: '0s', ...spec } }
}

const target = (given: object = {}) => ({
  name: 'one',
  delete: true,
  includeWhenEvaluating: true,
  reference: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a' },
  ...given,
})

async function ready() {
  const found = await world.get<ConditionalTtl>(ref)
  const condition = found?.status?.conditions?.find(({ type }) => type === 'Ready')
  return condition && [condition.status, condition.reason]
}

async function reasons(): Promise<readonly string[]> {
  const { items } = await world.client.list<StoredObject & { reason: string; involvedObject: { kind: string } }>(events)
  return items.filter(({ involvedObject }) => involvedObject.kind === ref.kind).map(({ reason }) => reason)
}

describe('a ConditionalTTL, as users of cleaner-controller know it', () => {
  it('shows the same columns under the same names', () => {
    const [version] = (conditionalTtl.crd['spec'] as { versions: { additionalPrinterColumns: { name: string }[] }[] })
      .versions
    expect(version?.additionalPrinterColumns.map(({ name }) => name)).toEqual(['Age', 'TTL', 'Status'])
    expect(conditionalTtl.shortNames).toEqual(['cttl'])
  })

  it.each<[string, object, readonly string[]]>([
    ['before its time', { ttl: '5m' }, ['True', 'NotExpired']],
    ['without what it looks at', { targets: [target({ delete: false })] }, ['False', 'TargetResolveError']],
    ['with a condition that cannot be compiled', { conditions: ['nope == 1'] }, ['False', 'ConditionCompileError']],
    ['with one that fails', { conditions: ['[][0] == 1'] }, ['False', 'ConditionEvaluationError']],
    ['with one that is no boolean', { conditions: ['1 + 1'] }, ['False', 'ConditionResultNotBoolean']],
    ['with one that is false', { conditions: ['false'] }, ['True', 'WaitingForConditions']],
  ])('reports %s as cleaner-controller does, without finalizers', async (_, spec, claim) => {
    await world.create(conditionalTtlOf(spec))
    await world.pass(2000)
    expect(await ready()).toEqual(claim)
    expect((await world.get<StoredObject>(ref))?.metadata.finalizers ?? []).toEqual([])
  })

  const twoTargets = [
    target(),
    target({
      name: 'two',
      includeWhenEvaluating: false,
      reference: { apiVersion: 'v1', kind: 'ConfigMap', name: 'b' },
    }),
  ]
  const helm = { release: 'web', delete: true }
  const record: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'team', name: 'sh.helm.release.v1.web.v1', labels: { owner: 'helm', name: 'web' } },
  }

  it.each<[string, object]>([
    ['its only target', { targets: [target()], conditions: ['one.data.go == "yes"'] }],
    ['all its targets and its release', { targets: twoTargets, helm }],
    [
      'what a selector chose, whatever else is evaluated',
      {
        targets: [
          target({ delete: false }),
          target({
            name: 'two',
            reference: { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { app: 'x' } } },
          }),
        ],
      },
    ],
  ])('C2-12: completes when %s is gone', async (_, spec) => {
    await world.create(configMap('bystander'))
    await world.create(conditionalTtlOf(spec))
    await world.pass(5 * minute)
    expect(await world.get(ref)).toBeUndefined()
    expect(await left(world)).toEqual(['bystander'])
  })

  it.each<[string, object, KubeObject]>([
    ['a target that is only to be deleted', { targets: twoTargets }, configMap('b')],
    ['its release', { targets: [target()], helm }, record],
  ])('C2-12: waits while %s is left, which is not evaluated', async (_, spec, remaining) => {
    await world.create(remaining)
    await world.create(conditionalTtlOf(spec))
    await world.pass(5 * minute)
    expect(await ready()).toEqual(['False', 'TargetResolveError'])
    const { apiVersion, kind, metadata } = remaining
    expect(await world.get({ apiVersion, kind, namespace: 'team', name: metadata.name ?? '' })).toBeDefined()
  })

  it('is deleted without finalizers, with one Event, when they have no work', async () => {
    await world.create(conditionalTtlOf({ conditions: ['true'] }))
    await world.pass(5 * minute)
    expect(await world.get(ref)).toBeUndefined()
    expect(finalizers).toEqual([])
    expect(await reasons()).toEqual(['Departed'])
  })

  it('does the work of its finalizers in their order, with the same Events and CloudEvent', async () => {
    await world.create(configMap('a', { annotations: { go: 'yes' } }))
    const conditions = ['one.metadata.annotations["go"] == "yes"']
    await world.create(
      conditionalTtlOf({
        targets: [target()],
        conditions,
        helm: { release: 'absent', delete: true },
        cloudEventSink: 'http://sink.example/',
      }),
    )
    await world.pass(5 * minute)
    expect(await left(world)).toEqual([])
    expect(await world.get(ref)).toBeUndefined()
    const stages = ['target', 'release', 'cloud-event'].map((stage) => `cleaner.vtex.io/${stage}-finalizer`)
    expect(finalizers).toEqual([stages, stages.slice(1), stages.slice(2), []])
    const asKnown = (await reasons()).filter((reason) => !['Departed', 'TargetNotFound'].includes(reason))
    expect(asKnown).toEqual(['TargetDeleted', 'EventDelivered'])
    expect(told).toHaveLength(1)
    expect(told[0]?.headers).toMatchObject({
      'ce-specversion': '1.0',
      'ce-type': 'conditionalTTL.deleted',
      'ce-source': 'cleaner.vtex.io/finalizer',
      'content-type': 'application/json',
    })
    expect(JSON.parse(told[0]?.body ?? '')).toMatchObject({
      name: 't',
      namespace: 'team',
      targets: [{ name: 'one', delete: true, includeWhenEvaluating: true, state: { metadata: { name: 'a' } } }],
    })
  })
})
