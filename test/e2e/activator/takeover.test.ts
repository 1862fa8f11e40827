import { deployments, endpointSlices, services } from '../../../src/kube/core-types.ts'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import { seededRandom } from '../../../src/runtime/time/random.ts'
import type { EndpointSlice } from '../../../src/systems/activator/model/endpoints.ts'
import { rawClient } from '../../activator/proxy.ts'
import { addShop, shopPorts } from './shop.ts'
import { startServiceRouter, type ServiceRouter } from './service-router.ts'
import { startCluster, startSojourn, type ClusterProcess, type SojournProcess } from './sojourn-process.ts'

const run = promisify(execFile)
/** Tests kill often, and the next proxies wait until those before are known to be gone. */
const lease = ['--peer-lease', '4s']
const namespace = 'default'
const random = seededRandom(7)

let cluster: ClusterProcess
let proxies: SojournProcess[] = []
let nextHost = 2
/** So that two runs on one machine do not meet. */
const hosts = `127.${1 + (process.pid % 250)}.${Math.trunc(process.pid / 250) % 250}`

beforeAll(async () => {
  cluster = await startCluster()
}, 120_000)
afterAll(() => cluster[Symbol.asyncDispose]())

const killProxies = async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop('SIGKILL')
}

/** Proxies like pods: each has an address of its own, and the same ports. */
async function startProxies(count: number, ...flags: string[]): Promise<void> {
  const started = await Promise.all(
    Array.from({ length: count }, () => {
      const host = `${hosts}.${nextHost++}`
      const where = ['--host', host, '--proxy-address', host, '--takeover', '--takeover-ports', '21000-21999']
      const args = ['run', '--only', 'activator', '--port', '0', '--proxy-port', '0', '--drain-delay', '1s', ...lease]
      return startSojourn([...args, '--kubeconfig', cluster.kubeconfig, ...where, ...flags])
    }),
  )
  proxies.push(...started)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const until = async (look: () => boolean | Promise<boolean>) => {
  while (!(await look())) await pause(20)
}
const get = (name: string) => cluster.client.get(services, { namespace, name })
const specOf = async (name: string) => (await get(name)).spec as { selector?: object; clusterIP: string }
const conditionOf = async (name: string) => {
  const { status } = await get(name)
  const { conditions = [] } = status as {
    conditions?: { type: string; status: string; reason: string; message: string }[]
  }
  return conditions.find(({ type }) => type === 'sojourn.dev/TakenOver')
}
const isTaken = async (name: string) => (await conditionOf(name))?.status === 'True' && !(await specOf(name)).selector
const replicasOf = async (name: string) =>
  ((await cluster.client.get(deployments, { namespace, name })).spec as { replicas: number }).replicas
const ourSlices = async (name: string) => {
  const { items } = await cluster.client.list<EndpointSlice>(endpointSlices, {
    namespace,
    labelSelector: `kubernetes.io/service-name=${name},endpointslice.kubernetes.io/managed-by=sojourn`,
  })
  return items
}
const isGivenBack = async (name: string) => {
  const pods = await cluster.client
    .get(services, { namespace, name: `${name}-sojourn-pods` })
    .catch(ignoring('NotFound'))
  return (await specOf(name)).selector !== undefined && (await ourSlices(name)).length === 0 && !pods
}
const annotate = (name: string, annotations: Readonly<Record<string, string | null>>): Promise<StoredObject> =>
  cluster.client.patch(services, { namespace, name }, { type: 'merge', body: { metadata: { annotations } } })

/** Each calls the Service by its short name in its own protocol; answers what was wrong with the answer, if anything. */
const callers: Readonly<Record<(typeof shopPorts)[number], (router: ServiceRouter) => Promise<string | undefined>>> = {
  async http(router) {
    const args = [
      '-sS',
      '--max-time',
      '30',
      '--connect-to',
      `shop:80:127.0.0.1:${router.portOf('http')}`,
      'http://shop/hello',
    ]
    const { stdout } = await run('curl', args)
    return stdout === 'GET shop/hello' ? undefined : stdout
  },
  async echo(router) {
    using client = rawClient(router.portOf('echo'))
    client.send('hi\n')
    client.socket.setTimeout(30_000, () => client.socket.destroy())
    const text = await client.until((said) => said.includes('\n'))
    return text === 'echo hi\n' ? undefined : text
  },
  async tls(router) {
    const where = ['--connect-to', `shop:443:127.0.0.1:${router.portOf('tls')}`, 'https://shop/']
    const { stdout, stderr } = await run('curl', ['-sSkv', '--max-time', '30', ...where])
    return stdout === 'secret' && /CN\s?=\s?shop/.test(stderr) ? undefined : `${stdout} ${stderr}`
  },
}

/** Calls at all ports, with pauses long enough to fall asleep in, until told to stop; answers what went wrong. */
function startCallers(router: ServiceRouter, longestPauseMs: number) {
  const failures: string[] = []
  let [calls, isOver] = [0, false]
  const call = async (port: (typeof shopPorts)[number]) => {
    while (!isOver) {
      const failure = await callers[port](router).catch(String)
      calls++
      if (failure !== undefined) failures.push(`${port}: ${failure}`)
      await pause(random() * longestPauseMs)
    }
  }
  const running = Promise.all(shopPorts.map(call))
  return {
    failures,
    get calls() {
      return calls
    },
    async stop() {
      isOver = true
      await running
    },
  }
}

/** One call of each kind; answers what was wrong with their answers. */
const callAll = async (router: ServiceRouter) =>
  (await Promise.all(shopPorts.map((port) => callers[port](router)))).filter((wrong) => wrong !== undefined)

describe('a Service taken over by three proxies', () => {
  afterEach(killProxies)

  it('is taken and given back under load in three protocols, and no call is lost', async () => {
    await addShop(cluster.client, 'shop', { annotations: {}, replicas: 1 })
    await using router = await startServiceRouter(cluster.client, { namespace, name: 'shop', ports: shopPorts })
    await until(() => router.endpointsOf('http').length > 0)
    const { clusterIP } = await specOf('shop')
    const load = startCallers(router, 50)
    await startProxies(3)
    await annotate('shop', { 'sojourn.dev/takeover': 'true' })
    await until(() => isTaken('shop'))
    // Of all ports, and of none but the proxies: on the way there three may be two of them and the pod.
    const isProxy = (endpoint: string) => endpoint.startsWith(hosts) && /:21\d{3}$/.test(endpoint)
    const isLed = (port: 'http' | 'tls') =>
      router.endpointsOf(port).length === 3 && router.endpointsOf(port).every(isProxy)
    await until(() => isLed('http') && isLed('tls'))
    expect(await specOf('shop')).toMatchObject({ clusterIP })
    expect((await get('shop')).metadata.annotations?.['sojourn.dev/selector']).toBe('app=shop')
    await pause(500)
    // One leaves as pods do: callers are led elsewhere before it takes no more.
    await proxies.shift()!.stop('SIGTERM')
    expect(router.endpointsOf('http')).toHaveLength(2)
    await startProxies(1)
    await until(() => router.endpointsOf('http').length === 3)
    await annotate('shop', { 'sojourn.dev/takeover': null })
    await until(() => isGivenBack('shop'))
    await pause(500)
    await load.stop()
    expect(load.failures).toEqual([])
    expect(load.calls).toBeGreaterThan(20)
    expect(await conditionOf('shop')).toBeUndefined()
  }, 120_000)

  it('is given back when the last proxy leaves, asleep or awake, and taken again by the next', async () => {
    await startProxies(2)
    await addShop(cluster.client, 'left', { annotations: { 'sojourn.dev/takeover': 'true' }, replicas: 1 })
    await until(() => isTaken('left'))
    await Promise.all(proxies.splice(0).map((proxy) => proxy.stop('SIGTERM')))
    expect(await isGivenBack('left')).toBe(true)
    await startProxies(1)
    await until(() => isTaken('left'))
  }, 120_000)

  it('heals after kill -9 at any moment, both ways', async () => {
    await startProxies(1)
    await addShop(cluster.client, 'mended', { annotations: {}, replicas: 1 })
    await using router = await startServiceRouter(cluster.client, { namespace, name: 'mended', ports: shopPorts })
    for (let kills = 0; kills < 4; kills++) {
      const isWanted = kills % 2 === 0
      await annotate('mended', { 'sojourn.dev/takeover': isWanted ? 'true' : null })
      await pause(random() * 300)
      await proxies.shift()!.stop('SIGKILL')
      // With no proxy at all the pods must still be reachable, or come to be once one is back.
      await startProxies(1)
      await until(() => (isWanted ? isTaken('mended') : isGivenBack('mended')))
      // One that was killed after it had taken the Service is listed until the next one looks.
      const alive = `${hosts}.${nextHost - 1}:21`
      await until(() => {
        const endpoints = router.endpointsOf('http')
        return (
          endpoints.length > 0 && endpoints.every((each) => (isWanted ? each.startsWith(alive) : !each.includes(':21')))
        )
      })
      expect(await callAll(router)).toEqual([])
    }
  }, 240_000)
})

describe('Services taken over by the same three proxies', () => {
  beforeAll(() => startProxies(3), 60_000)
  afterAll(killProxies)

  it.concurrent('sleeps and wakes for callers of any of its ports, and no call is lost', async ({ expect }) => {
    const annotations = { 'sojourn.dev/takeover': 'true', 'proxless/ttl-seconds': '1' }
    await addShop(cluster.client, 'nap', { annotations, replicas: 0 })
    await using router = await startServiceRouter(cluster.client, { namespace, name: 'nap', ports: shopPorts })
    await until(() => isTaken('nap'))
    await until(() => router.endpointsOf('http').length === 3)
    for (const port of [...shopPorts, 'http'] as const) {
      await until(async () => (await replicasOf('nap')) === 0)
      expect(await callers[port](router)).toBeUndefined()
    }
    const load = startCallers(router, 6000)
    for (let naps = 0; naps < 2; naps++) {
      await until(async () => (await replicasOf('nap')) > 0)
      await until(async () => (await replicasOf('nap')) === 0)
    }
    await load.stop()
    expect(load.failures).toEqual([])
    await until(async () => (await replicasOf('nap')) === 0)
  }, 180_000)

  it.concurrent('is called past the proxy while it is warm, for as long as its pods say, and then sleeps and wakes', async ({
    expect,
  }) => {
    const annotations = {
      'sojourn.dev/takeover': 'true',
      'sojourn.dev/bypass-after-seconds': '1',
      'sojourn.dev/activity-probe': 'http/open',
      'proxless/ttl-seconds': '1',
    }
    await addShop(cluster.client, 'fast', { annotations, replicas: 1 })
    await using router = await startServiceRouter(cluster.client, { namespace, name: 'fast', ports: shopPorts })
    const isPast = () => {
      const endpoints = router.endpointsOf('http')
      return endpoints.length > 0 && endpoints.every((endpoint) => !endpoint.includes(':21'))
    }
    await until(() => isTaken('fast'))
    await until(() => router.endpointsOf('echo').length > 0)
    const load = startCallers(router, 200)
    await until(async () => (await conditionOf('fast'))?.reason === 'Bypassed' && isPast())
    using held = rawClient(router.portOf('echo'))
    held.send('hi\n')
    await held.until((said) => said.includes('\n'))
    await load.stop()
    // Only the pod knows of this one connection, and it is older than the time to live by now.
    await pause(4000)
    expect([await replicasOf('fast'), isPast()]).toEqual([1, true])
    held.send('still there\n')
    await held.until((said) => said.includes('still there'))
    held.socket.destroy()
    await until(async () => (await replicasOf('fast')) === 0)
    expect(router.endpointsOf('http').every((endpoint) => endpoint.includes(':21'))).toBe(true)
    expect(await callAll(router)).toEqual([])
    expect(load.failures).toEqual([])
    expect(load.calls).toBeGreaterThan(5)
  }, 120_000)

  it.concurrent('reports a selector that a tool restored, stays awake, and takes over again later', async ({
    expect,
  }) => {
    const annotations = { 'sojourn.dev/takeover': 'true', 'proxless/ttl-seconds': '1', 'sojourn.dev/sleep': 'true' }
    await addShop(cluster.client, 'contested', { annotations, replicas: 1 })
    await until(() => isTaken('contested'))
    const body = { spec: { selector: { app: 'contested' } } }
    await cluster.client.patch(services, { namespace, name: 'contested' }, { type: 'merge', body })
    await until(async () => (await conditionOf('contested'))?.reason === 'SelectorReapplied')
    expect((await conditionOf('contested'))!.message).toContain('/spec/selector')
    // Longer than it takes to fall asleep: callers may pass us now, so it must not.
    await pause(4000)
    expect(await replicasOf('contested')).toBe(1)
    await until(() => isTaken('contested'))
    await until(async () => (await replicasOf('contested')) === 0)
  }, 120_000)
})
