import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { networkInterfaces, tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { toolNames, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { attempt, run as runTool } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'

const missing = await whyUnavailable(...toolNames)
if (missing) console.warn(`SKIPPED: that the proxy needs no right to write was NOT shown: ${missing}`)
const chart = join(import.meta.dirname, '../../deploy/chart')
const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
  },
}
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'web',
    namespace: 'shop',
    annotations: {
      'sojourn.dev/target': 'Deployment/web',
      'proxless/domains': 'web.example.org',
      'proxless/ttl-seconds': '3',
    },
  },
  spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
}

// Kubernetes takes no loopback address for a pod.
const address =
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? ''

describe.skipIf(missing ?? (address === '' && 'this machine has no address but loopback'))(
  'one Deployment of all roles and one of proxies',
  { timeout: 180_000 },
  () => {
    let cluster: ReferenceCluster
    let folder: string
    const running: SojournProcess[] = []
    const pod = createServer((_, response) => response.end('hello'))

    beforeAll(async () => {
      const controllers = ['clusterrole-aggregation-controller', 'serviceaccount-controller']
      cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
      folder = mkdtempSync(join(tmpdir(), 'sojourn-daytwo-'))
      await new Promise<void>((resolve) => pod.listen(0, '0.0.0.0', resolve))
      const install = [
        'install',
        'sojourn',
        chart,
        '-n',
        'sojourn-system',
        '--create-namespace',
        '--set',
        'dryRun=false',
      ]
      await runTool('helm', install, cluster)
      await kubectl('create', 'namespace', 'shop')
      for (const input of [web, service]) await runTool('kubectl', ['create', '-f', '-'], { ...cluster, input })
    }, 900_000)
    afterAll(async () => {
      for (const each of running) await each.stop()
      pod.close()
      await cluster?.stop()
      if (folder) rmSync(folder, { recursive: true })
    })

    const kubectl = (...args: readonly string[]) => runTool('kubectl', args, cluster)
    const replicas = () => kubectl('-n', 'shop', 'get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}')

    const call = (port: string) =>
      new Promise<string>((resolve, reject) => {
        const request = get({ host: '127.0.0.1', port, headers: { host: 'web.example.org' } }, (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => (text += chunk.toString()))
          response.on('end', () => resolve(text))
        })
        request.on('error', reject)
      })

    /** Starts the container of a Deployment with the installed account and the arguments of the chart. */
    async function startPod(name: string): Promise<SojournProcess> {
      const token = await kubectl('-n', 'sojourn-system', 'create', 'token', name)
      const kubeconfig = join(folder, name)
      writeFileSync(kubeconfig, readFileSync(cluster.kubeconfig, 'utf8').replaceAll(cluster.token, token))
      const path = 'jsonpath={.spec.template.spec.containers[0].args}'
      const args = JSON.parse(await kubectl('-n', 'sojourn-system', 'get', 'deployment', name, '-o', path)) as string[]
      const flags = args.slice(1).filter((arg) => !/^--(host|port|proxy-port|peer-port|drain)/.test(arg))
      const here = [
        '--port=0',
        '--proxy-port=0',
        '--proxy-address=127.0.0.1',
        '--no-companions',
        '--kubeconfig',
        kubeconfig,
      ]
      const started = await SojournProcess.start([...flags, ...here])
      running.push(started)
      return started
    }

    it('wakes for a request at a proxy that may only read, serves it, and lets the workload sleep again', async () => {
      const [controllers, proxy] = await Promise.all([startPod('sojourn'), startPod('sojourn-proxy')])
      const url = /proxy=(http:\/\/\S+)/.exec(proxy.output)?.[1] ?? expect.fail(proxy.output)
      expect(controllers.output).not.toContain('proxy=')
      const answer = call(new URL(url).port)
      await expect.poll(replicas, { timeout: 30_000, interval: 200 }).toBe('1')
      const { port } = pod.address() as AddressInfo
      const slice = {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'web-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports: [{ name: '', port }],
      }
      await runTool('kubectl', ['create', '-f', '-'], { ...cluster, input: slice })
      expect(await answer).toBe('hello')
      await expect.poll(replicas, { timeout: 60_000, interval: 200 }).toBe('0')
      expect(proxy.output).not.toMatch(/forbidden/i)
    })

    it.each([
      ['patch', 'deployments.apps'],
      ['patch', 'deployments.apps/scale'],
      ['patch', 'services'],
      ['create', 'events'],
      ['list', 'secrets'],
      ['delete', 'configmaps'],
      ['update', 'leases.coordination.k8s.io/sojourn'],
    ])('gives the proxy no right to %s %s', async (verb, resource) => {
      const who = 'system:serviceaccount:sojourn-system:sojourn-proxy'
      for (const namespace of ['shop', 'sojourn-system']) {
        const asked = ['auth', 'can-i', verb, resource, '-n', namespace, '--as', who]
        expect((await attempt('kubectl', asked, cluster)).stdout.trim()).toBe('no')
      }
    })
  },
)
