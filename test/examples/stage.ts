import { mkdtempSync, rmSync } from 'node:fs'
import { request, type ClientRequest } from 'node:http'
import { request as requestOverTls } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/app/config/config.ts'
import { createInstance } from '../../src/app/core/instance.ts'
import { EmbeddedWorkloads } from '../../src/app/embedded/embedded-workloads.ts'
import { startSystems } from '../../src/app/core/systems.ts'
import { startUp } from '../../src/app/embedded/up.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { quietClock } from '../../src/runtime/time/quiet-clock.ts'
import { startWorld } from '../world.ts'
import { durationOf, type Step } from './example.ts'

/** Where an example is played: a cluster with all of Sojourn on it. */
export interface Stage extends AsyncDisposable {
  readonly client: Client
  /** Looks when the step says, and again while it may still come true. Throws what the last look threw. */
  see(step: Step, look: () => Promise<void>): Promise<void>
  /** The body of the answer that comes through the proxy; over TLS when an authority to trust is given. */
  ask(host: string, ca?: string): Promise<string>
}

/** All systems on a clock that jumps from event to event; pods are simulated. */
export async function virtualStage(): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'example-'))
  const world = await startWorld()
  const { client, clock, server } = world
  const instance = createInstance({
    config: readConfig({ flags: {}, env: {} }),
    client,
    clock,
    log: silentLogger,
    cacheClock: quietClock(clock),
    embedded: { exists: (uid) => server.store.owners.addressOf(uid) !== undefined },
  })
  const starting = Promise.all([
    new EmbeddedWorkloads().start(instance, { nodeName: 'here', directory }),
    startSystems(instance, ['cleaner', 'collector', 'janitor', 'promoter', 'environments']),
  ])
  await clock.settle()
  await starting
  const startedAt = clock.now()
  return {
    client,
    async see({ at }, look) {
      await clock.run(at === undefined ? clock.now() : startedAt + durationOf(at))
      await look()
    },
    ask: () => Promise.reject(new Error('requests need real time: say `within`, not `at`')),
    async [Symbol.asyncDispose]() {
      const stopped = instance.lifecycle.stop()
      // Simulated Pods take a moment to end.
      await clock.run(clock.now() + 1000)
      await stopped
      await world[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true })
    },
  }
}

/** All of `sojourn up`, with real processes, in a directory of its own. */
export async function realStage(): Promise<Stage> {
  const data = mkdtempSync(join(tmpdir(), 'example-'))
  const tlsPort = await freePort()
  const flags = { data, port: '0', 'proxy-port': '0', 'proxy-tls-port': String(tlsPort), durable: false }
  const up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const config = loadKubeconfig([up.kubeconfig], { now: () => systemClock.now(), env: {} })
  const network = networkTransport(config)
  return {
    client: new Client(network.transport),
    see: ({ within = '20s' }, look) => eventually(look, durationOf(within)),
    ask: (host, ca) => (ca === undefined ? askThrough(up.proxy, host) : askOverTls(tlsPort, host, ca)),
    async [Symbol.asyncDispose]() {
      network.close()
      await up.stop()
      rmSync(data, { recursive: true })
    },
  }
}

/** Real processes take real time: looks until it is so, or for too long. */
async function eventually(look: () => Promise<void>, forMs: number): Promise<void> {
  const until = performance.now() + forMs
  for (;;) {
    try {
      await look()
      return
    } catch (error) {
      if (performance.now() > until) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function askThrough(proxy: string, host: string): Promise<string> {
  return answerTo(request(proxy, { headers: { host }, agent: false }))
}

function askOverTls(port: number, host: string, ca: string): Promise<string> {
  const options = { host: '127.0.0.1', port, ca, servername: host, headers: { host }, agent: false }
  return answerTo(requestOverTls(options))
}

function answerTo(asked: ClientRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    asked.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve(body))
    })
    asked.on('error', reject)
    asked.end()
  })
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
