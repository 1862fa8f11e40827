import { deployments, services } from '../../kube/core-types.ts'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startTestServer } from '../../../test/apiserver/test-server.ts'
import { Client } from '../../client/client.ts'
import { Alarms } from '../../runtime/controller/alarms.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { LocalNode } from '../../workloads/node/node-controller.ts'
import { workloadControllers } from '../../workloads/controllers/workloads.ts'
import { startActivator } from './start-activator.ts'

const namespace = 'default'
const app = `require('http').createServer((q, s) => { let n = 0; q.on('data', (d) => (n += d.length)).on('end', () => s.end(q.method + ' ' + q.url + ' ' + n + ' ' + process.pid)) }).listen(process.env.PORT, '127.0.0.1')`

it('real processes sleep and wake behind the proxy, for a real curl', async () => {
  const clock = systemClock
  const log = silentLogger
  const metrics = new Metrics()
  const server = await startTestServer({ clock: clock as never, nodeName: 'here' })
  const client = new Client(server.transport)
  const informers = new Informers({ clock, metrics })
  const directory = mkdtempSync(join(tmpdir(), 'activator-'))
  const events = { record: () => {}, flush: () => Promise.resolve() }
  const core = {
    client,
    informers,
    clock,
    log,
    metrics,
    events,
    ports: { clock, log, metrics, alarms: new Alarms(clock) },
  } as never
  const node = new LocalNode({
    ...(core as object),
    nodeName: 'here',
    directory,
    inherited: { PATH: process.env['PATH'] },
  } as never)
  const control = new AbortController()
  const controllers = [...workloadControllers(core), node.controller].map((controller) =>
    controller.start(control.signal),
  )
  const running = await startActivator(
    { client, informers, clock, log, metrics, events },
    { host: '127.0.0.1', port: 0, threads: 2 },
  )
  try {
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web',
        namespace,
        annotations: { 'proxless/deployment': 'web', 'proxless/domains': 'web.test', 'proxless/ttl-seconds': '1' },
      },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    })
    await client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [
              { name: 'web', image: 'none', command: [process.execPath, '-e', app], ports: [{ containerPort: 80 }] },
            ],
          },
        },
      },
    })
    const curl = async (...args: string[]) =>
      (await promisify(execFile)('curl', ['-s', '-H', 'Host: web.test', ...args, `http://127.0.0.1:${running.port}/x`]))
        .stdout
    while ((await curl('-o', '/dev/null', '-w', '%{http_code}', '-m', '1').catch(() => '')) === '404');
    const answers = await Promise.all([curl(), curl('--data', 'hello')])
    expect(answers[0]).toMatch(/^GET \/x 0 \d+$/)
    expect(answers[1]).toMatch(/^POST \/x 5 \d+$/)
    const pid = Number(answers[0]!.split(' ').at(-1))
    expect(Number(answers[1]!.split(' ').at(-1))).toBe(pid)
    const isRunning = () => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    while (isRunning()) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await curl('-i')).toMatch(/x-cold-start: \d+/i)
  } finally {
    await running.stop()
    control.abort()
    await Promise.all(controllers)
    await node.close()
    informers.close()
    await server.close()
    rmSync(directory, { recursive: true, force: true })
  }
})
