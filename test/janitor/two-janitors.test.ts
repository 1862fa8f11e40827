import { configMaps } from '../../src/kube/core-types.ts'
import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { cleanupCandidate, type CleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupPolicy, type CleanupPolicy } from '../../src/apis/cleanup-policy.ts'
import { departure, type Departure } from '../../src/apis/departure.ts'
import { startTestServer, type TestServer } from '../apiserver/test-server.ts'
import { Client } from '../../src/client/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { seededRandom } from '../../src/runtime/time/random.ts'
import { startWebSink, type WebSink } from './sinks.ts'

const kills = Number(process.env['SOJOURN_KILLS'] ?? 50)
const things = kills * 3

describe('two janitors, one of which is killed again and again', () => {
  let server: TestServer
  let client: Client
  let web: WebSink
  let directory: string
  const processes = new Map<string, ChildProcess>()

  beforeAll(async () => {
    server = await startTestServer({ clock: systemClock })
    const { url } = await server.listen({ port: 0 })
    directory = mkdtempSync(join(tmpdir(), 'janitors-'))
    writeFileSync(join(directory, 'kubeconfig'), server.kubeconfig(url))
    client = new Client(server.transport)
    web = await startWebSink()
    for (const { crd } of allKinds) await create(crd)
    for (const name of ['sojourn-system', 'team'])
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  })
  afterAll(async () => {
    for (const child of processes.values()) child.kill('SIGKILL')
    await web?.[Symbol.asyncDispose]()
    await server?.close()
    rmSync(directory, { recursive: true, force: true })
  })

  async function create(manifest: KubeObject): Promise<void> {
    const type = await client.discovery.typeOf(manifest)
    if (!type) throw new Error(`the server does not serve ${manifest.kind}`)
    await client.create(type, manifest)
  }

  /** What the policy and the marks that have not come to their end say. */
  async function standing(): Promise<unknown> {
    const { items } = await client.list<CleanupCandidate>(cleanupCandidate.type)
    const { status } = await client.get<CleanupPolicy>(cleanupPolicy.type, { name: 'tidy' })
    return { policy: status, marks: items.flatMap((mark) => (mark.status?.phase === 'Deleted' ? [] : [mark.status])) }
  }

  /** Waits as long as things keep leaving: how fast they do is up to the machine, that they never stop is up to us. */
  async function everythingLeft(leftAt: ReadonlyMap<string, number>): Promise<void> {
    for (let seen = 0, quiet = 0; leftAt.size < things; quiet++) {
      if (leftAt.size > seen) quiet = 0
      seen = leftAt.size
      if (quiet > 120) throw new Error(`only ${seen} have left: ${JSON.stringify(await standing())}`)
      await sleep(1000)
    }
  }

  function startJanitor(name: string): void {
    const identity = `${name}-${processes.get(name)?.pid ?? 0}`
    const child = fork(join(import.meta.dirname, 'janitor-process.ts'), [join(directory, 'kubeconfig'), identity], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    processes.set(name, child)
  }

  it(`E16: delete each resource once, after its notice, and never before the announced date (${kills} kills)`, async () => {
    const random = seededRandom(7)
    const leftAt = new Map<string, number>()
    const watching = new AbortController()
    const watch = (async () => {
      const { metadata } = await client.list(configMaps, { namespace: 'team' })
      for await (const { type, object } of client.watch(configMaps, {
        namespace: 'team',
        resourceVersion: metadata.resourceVersion,
        signal: watching.signal,
      }))
        if (type === 'DELETED') leftAt.set(object.metadata.name, Date.now())
    })().catch(() => {})
    for (let index = 0; index < things; index++)
      await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `thing-${index}`, namespace: 'team' } })
    await create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'NotificationChannel',
      metadata: { name: 'hook' },
      spec: { type: 'webhook', webhook: { url: web.url } },
    })
    await create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'CleanupPolicy',
      metadata: { name: 'tidy' },
      spec: {
        interval: '1s',
        minAge: '0',
        targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
        rules: [{ rules: [{ name: 'AttributeRule', parameters: { name: 'pattern:^thing-' } }] }],
        retention: { duration: '4s' },
        notification: { channels: ['hook'], itemsPerMessage: 4 },
        limits: { maxMarks: 3, maxDeletes: 3, maxDeletePercent: 100 },
      },
    })
    startJanitor('one')
    startJanitor('two')
    for (let count = 0; count < kills; count++) {
      await sleep(1200 + random() * 1800)
      const name = random() < 0.5 ? 'one' : 'two'
      processes.get(name)?.kill('SIGKILL')
      startJanitor(name)
    }
    await everythingLeft(leftAt)
    watching.abort()
    await watch

    const printed = new Map<string, number[]>()
    for (const { body } of web.posts) {
      const { data } = JSON.parse(body) as { data: { resources: { name: string; deletedFrom: string }[] } }
      for (const { name, deletedFrom } of data.resources)
        printed.set(name, [...(printed.get(name) ?? []), Date.parse(deletedFrom)])
    }
    const { items } = await client.list<Departure>(departure.type)
    const records = items.filter(({ spec }) => spec.object.kind === 'ConfigMap')
    expect(new Set(records.map(({ spec }) => spec.object.uid)).size).toBe(things)
    expect(records).toHaveLength(things)
    for (const [name, at] of leftAt) {
      expect(printed.get(name), `${name} was told of`).toBeDefined()
      for (const date of printed.get(name) ?? []) expect(at).toBeGreaterThanOrEqual(date)
    }
  }, 1_200_000)
})
