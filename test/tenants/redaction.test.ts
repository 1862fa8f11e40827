import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { departurePage } from '../../src/apis/departure-page.ts'
import { departure, type Departure } from '../../src/apis/departure.ts'
import { events } from '../../src/kube/core-types.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { cleaner, refTo, refToCleaner } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const password = 'correct-horse-battery'
const encoded = btoa(password)
/** The key of the records, as an administrator creates it. */
const recordKey = 'cmVkYWN0aW9uLWtleS1vZi0zMi1ieXRlcy1mb3ItaXQ='

describe.each(worlds)('values of Secrets: $name', ({ start }) => {
  let world: TenantWorld
  const received: string[] = []
  const sink = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (chunk: string) => void received.push(chunk))
    request.on('end', () => response.end())
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => void sink.listen(0, '127.0.0.1', resolve))
    world = await start({ flags: { 'allow-outgoing': '127.0.0.1', 'record-secrets': true } })
    await world.create('administrator', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'sojourn-system', name: 'sojourn-record-keys' },
      data: { first: btoa(recordKey) },
    })
  })
  afterAll(async () => {
    sink.close()
    await world?.[Symbol.asyncDispose]()
  })

  const secret = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      namespace: 'a',
      name,
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"password":"${encoded}"}}` },
    },
    data: { password: encoded },
  })
  const target = (name: string, isDeleted: boolean) => ({
    name: 'secret',
    delete: isDeleted,
    includeWhenEvaluating: true,
    reference: { apiVersion: 'v1', kind: 'Secret', name },
  })
  const expectHidden = (text: string) => {
    for (const value of [password, encoded, recordKey, btoa(recordKey)]) expect(text).not.toContain(value)
  }

  it('3: a target that is a Secret is known in the status by its metadata alone', async () => {
    await world.create('tenant', secret('state'))
    // A second target with a finalizer keeps the Cleaner readable after its decision.
    const finalizers = ['example.com/wait']
    await world.create('tenant', {
      ...cleaner('a', 'state', { spec: { targets: [target('state', false)] } }),
      metadata: { namespace: 'a', name: 'state', finalizers },
    })
    const status = await until(async () => {
      const found = (await world.get(refToCleaner('a', 'state')))?.status as { readonly targets?: unknown } | undefined
      return found?.targets ? JSON.stringify(found) : undefined
    })
    expect(status).toContain('"name":"state"')
    expectHidden(status)
  })

  it('14: a condition on the data of a Secret has nothing to see', async () => {
    await world.create('tenant', secret('probed'))
    const spec = { targets: [target('probed', true)], conditions: ['secret.data.password.startsWith("Y")'] }
    await world.create('tenant', cleaner('a', 'probed', { spec }))
    const { message } = await world.ready(refToCleaner('a', 'probed'), 'ConditionEvaluationError')
    expect(message).toContain('no such key')
  })

  it('15: an error of a condition repeats no value', async () => {
    const data = { when: 'private-text-of-a-user' }
    await world.create('tenant', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'a', name: 'echo' },
      data,
    })
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'echo' }
    const targets = [{ name: 'echo', delete: false, includeWhenEvaluating: true, reference }]
    await world.create(
      'tenant',
      cleaner('a', 'echo', { spec: { targets, conditions: ['timestamp(echo.data.when) < time'] } }),
    )
    const { message } = await world.ready(refToCleaner('a', 'echo'), 'ConditionEvaluationError')
    expect(message).toContain('invalid timestamp')
    expect(message).not.toContain('private-text')
  })

  it('16: no condition can guess a value of a Secret', async () => {
    await world.create('tenant', secret('guessed'))
    const conditions = [`has(secret.data) && secret.data.password == "${encoded}"`]
    await world.create('tenant', cleaner('a', 'guessed', { spec: { targets: [target('guessed', true)], conditions } }))
    await world.ready(refToCleaner('a', 'guessed'), 'WaitingForConditions')
    expect(await world.get(refTo('a', 'guessed', 'Secret'))).toBeDefined()
  })

  it('20: 21: 26: a deleted Secret leaves its values in no Event, Departure or CloudEvent', async () => {
    const { port } = sink.address() as AddressInfo
    await world.create('tenant', secret('sent'))
    const spec = {
      targets: [target('sent', true)],
      cloudEventSink: `http://127.0.0.1:${port}/`,
      cloudEventRequired: true,
    }
    await world.create('tenant', cleaner('a', 'sent', { spec }))
    await world.gone(refToCleaner('a', 'sent'))
    expect(received.join('')).toContain('"name":"sent"')
    expectHidden(received.join(''))
    const administrator = world.as('administrator')
    for (const type of [departure.type, departurePage.type, events]) {
      const { items } = await administrator.list(type, {})
      if (type !== departurePage.type) expect(items.length).toBeGreaterThan(0)
      expectHidden(JSON.stringify(items))
    }
    const { items: records } = await administrator.list<Departure>(departure.type, { namespace: 'a' })
    expect(records.find(({ spec }) => spec.object.kind === 'Secret')?.spec.sealed).toMatchObject({ key: 'first' })
    expectHidden(world.logged())
  })

  it('22: 30: a viewer reads nothing of a Secret by way of a Cleaner', async () => {
    const { items } = await world
      .as('viewer')
      .list(
        { group: 'cleaner.vtex.dev', version: 'v1alpha', kind: 'Cleaner', plural: 'cleaners', namespaced: true },
        { namespace: 'a' },
      )
    expect(items.length).toBeGreaterThan(0)
    for (const item of items) expectHidden(JSON.stringify(item.status))
  })
})
