import { deployments, secrets, services } from '../../../src/kube/core-types.ts'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/runtime/time/random.ts'
import { certificateFor, rawClient, roundTrip } from '../../activator/proxy.ts'
import { startCluster, startSojourn, type ClusterProcess, type SojournProcess } from './sojourn-process.ts'

const run = promisify(execFile)
const namespace = 'default'
/** Answers with the path and how often it was asked for; slowly where asked to. */
const app = `const seen = new Map()
require('http').createServer((q, s) => {
  seen.set(q.url, (seen.get(q.url) ?? 0) + 1)
  const end = () => s.end(q.url + ' ' + seen.get(q.url))
  if (!q.url.startsWith('/slow')) return end()
  s.write('begun ')
  setTimeout(end, 1000)
}).listen(process.env.PORT, '127.0.0.1')`

let cluster: ClusterProcess
let proxies: SojournProcess[] = []

beforeAll(async () => {
  cluster = await startCluster()
}, 120_000)
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop('SIGKILL')
})
afterAll(() => cluster[Symbol.asyncDispose]())

async function startProxies(count: number, ...flags: string[]): Promise<void> {
  const args = ['run', '--only', 'activator', '--port', '0', '--proxy-port', '0', '--kubeconfig', cluster.kubeconfig]
  // Those of the test before were killed, and count as alive for so long.
  const lease = ['--peer-lease', '4s']
  proxies.push(...(await Promise.all(Array.from({ length: count }, () => startSojourn([...args, ...lease, ...flags])))))
}

async function addApp(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
  const labels = { app: name }
  await cluster.client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      annotations: { 'proxless/deployment': name, 'proxless/domains': `${name}.test`, ...annotations },
    },
    spec: { selector: labels, ports: [{ port: 80 }] },
  })
  const container = {
    name: 'app',
    image: 'none',
    command: [process.execPath, '-e', app],
    ports: [{ containerPort: 80 }],
  }
  await cluster.client.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  })
}

/** Every number of replicas a Deployment was set to, in order. */
function followReplicas(name: string): { readonly seen: number[]; readonly stop: () => void } {
  const control = new AbortController()
  const seen: number[] = []
  const follow = async () => {
    const events = cluster.client.watch(deployments, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      signal: control.signal,
    })
    for await (const { object } of events) {
      const { replicas = 1 } = object.spec as { replicas?: number }
      if (seen.at(-1) !== replicas) seen.push(replicas)
    }
  }
  void follow().catch(() => {})
  return { seen, stop: () => control.abort() }
}

const portOf = ({ said }: SojournProcess) => Number(new URL(said['proxy']!).port)
const ask = (proxy: SojournProcess, host: string, path = '/') =>
  roundTrip(portOf(proxy), `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const until = async (look: () => boolean | Promise<boolean>) => {
  while (!(await look())) await pause(20)
}
const known = (host: string) =>
  Promise.all(proxies.map((proxy) => until(async () => !(await ask(proxy, host, '/known')).includes(' 404 '))))

describe('three proxies, each a process of its own', () => {
  it('wake a workload once for 1,000 simultaneous requests, and answer each exactly once (C61)', async () => {
    await addApp('burst')
    const { seen, stop } = followReplicas('burst')
    await startProxies(3)
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => ask(proxies[i % 3]!, 'burst.test', `/${i}`)),
    )
    answers.forEach((answer, i) => {
      expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(1)
      expect(answer).toMatch(new RegExp(`/${i} 1(\\r\\n|$)`))
    })
    expect(seen).toEqual([0, 1])
    stop()
  }, 60_000)

  it('lose nothing over sleeps, wakes and killed replicas, and any of them puts to sleep (C91)', async () => {
    const random = seededRandom(11)
    await addApp('chaos', { 'proxless/ttl-seconds': '1' })
    const { seen, stop } = followReplicas('chaos')
    await startProxies(3)
    await known('chaos.test')
    const failures: string[] = []
    let answered = 0
    let isOver = false
    const client = async () => {
      while (!isOver) {
        await pause(random() * 2500)
        const proxy = proxies[Math.floor(random() * proxies.length)]!
        const answer = await ask(proxy, 'chaos.test').catch(String)
        // A killed replica takes its connections along: that is the kill, not the sleep.
        if (answer.includes('200 OK')) answered++
        else if (proxies.includes(proxy)) failures.push(answer)
      }
    }
    const killer = async () => {
      for (let kills = 0; kills < 2; kills++) {
        await pause(4000)
        const [victim] = proxies.splice(Math.floor(random() * proxies.length), 1)
        await victim!.stop('SIGKILL')
        await startProxies(1)
      }
      isOver = true
    }
    await Promise.all([client(), client(), client(), killer()])
    expect(failures).toEqual([])
    expect(answered).toBeGreaterThan(5)
    // The current leader puts it to sleep, though another replica may have served the last request.
    await until(() => seen.at(-1) === 0)
    stop()
  }, 180_000)

  it('leave gently: requests under way end, and the next replica knows when it was last used (C103)', async () => {
    await addApp('gentle')
    await startProxies(2)
    await known('gentle.test')
    const [leaving] = proxies.splice(0, 1)
    using last = rawClient(portOf(leaving!))
    last.send('GET /slow HTTP/1.1\r\nHost: gentle.test\r\n\r\n')
    await last.until((text) => text.includes('begun'))
    await leaving!.stop('SIGTERM')
    expect(await last.closed()).toContain('/slow 1')
    expect(await ask(proxies[0]!, 'gentle.test', '/next')).toContain('/next 1')
    const { metadata } = await cluster.client.get(deployments, { namespace, name: 'gentle' })
    expect(metadata.annotations?.['proxless/last-used']).toBeDefined()
  }, 60_000)
})

describe('one proxy, a process of its own', () => {
  it('terminates TLS for two names with the certificate of each, for a real curl (C56)', async () => {
    for (const name of ['red', 'blue']) {
      const { cert, key } = certificateFor(`${name}.test`)
      writeFileSync(join(tmpdir(), `${name}.pem`), cert)
      const data = { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') }
      await cluster.client.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: `${name}-tls`, namespace },
        type: 'kubernetes.io/tls',
        data,
      })
      await addApp(name, { 'sojourn.dev/tls-secret': `${name}-tls` })
    }
    await startProxies(1, '--proxy-tls-port', '0')
    const { port } = new URL(proxies[0]!.said['tls']!)
    for (const name of ['red', 'blue']) {
      const trust = ['--cacert', join(tmpdir(), `${name}.pem`)]
      const where = ['--resolve', `${name}.test:${port}:127.0.0.1`, `https://${name}.test:${port}/hello`]
      const { stdout } = await run('curl', ['-sS', ...trust, ...where])
      expect(stdout).toBe('/hello 1')
    }
  }, 60_000)

  it('takes the environment of a proxless installation as it is', async () => {
    await addApp('dropin')
    const proxy = await startSojourn(['run', '--only', 'activator', '--port', '0'], {
      PORT: '0',
      LOG_LEVEL: 'DEBUG',
      KUBE_CONFIG_PATH: cluster.kubeconfig,
      NAMESPACE_SCOPED: 'true',
      PROXLESS_NAMESPACE: namespace,
      SERVERLESS_TTL_SECONDS: '1',
      DEPLOYMENT_READINESS_TIMEOUT_SECONDS: '20',
      REDIS_URL: 'redis:6379',
    })
    proxies.push(proxy)
    const { seen, stop } = followReplicas('dropin')
    // Where only one namespace is looked after, a Service's bare name will do.
    expect(await ask(proxy, 'dropin')).toContain('200 OK')
    await until(() => seen.at(-1) === 0)
    stop()
    await expect(startSojourn(['run', '--only', 'activator'], { PORT: 'eighty' })).rejects.toThrow('PORT')
  }, 60_000)
})
