import { deployments, services } from '../../src/kube/core-types.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { pipeline as pipelineKind, type Pipeline, type PipelineSpec } from '../../src/apis/pipeline.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { environments } from './world.ts'
import { startSojourn } from '../e2e/activator/sojourn-process.ts'
import { namespaces } from './cluster.ts'
import { phase, specOf, target, useClusters } from './clusters.ts'

const on = useClusters()

function sleeping(adapter: { healthy: string }, over: Partial<PipelineSpec> = {}): PipelineSpec {
  const appRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
  const revision = 'has(self.metadata.labels) ? self.metadata.labels.version : ""'
  return specOf({ appRef, adapter: { ...adapter, revision }, ...over })
}

describe('N41: an application that the on-demand proxy has put to sleep', () => {
  async function asleep(): Promise<void> {
    await on.home.namespace('dev')
    await on.home.client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'dev', name: 'app', labels: { version: '1.1.0' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'app' } },
        template: { metadata: { labels: { app: 'app' } }, spec: { containers: [{ name: 'app', image: 'app' }] } },
      },
    })
    await on.home.release('prod', '1.0.0')
  }

  it.each([
    ['self.status.?readyReplicas.orValue(0) > 0', false],
    ['self.spec.replicas == 0 || self.status.?readyReplicas.orValue(0) > 0', true],
  ])('is healthy only if the expression says so: %s', async (healthy, ready) => {
    await asleep()
    await on.test.pipeline('app', sleeping({ healthy }, { environments: environments('dev') }))
    const seen = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    expect(target(seen, 'dev')).toMatchObject({ ready, revision: '1.1.0' })
  })

  it('is called again by the verification until it answers, and only then its revision goes on', async () => {
    await asleep()
    const calls: number[] = []
    const proxy = createServer((_, response) => {
      calls.push(calls.length)
      response.writeHead(calls.length === 1 ? 503 : 200).end()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`
    const [dev, prod] = environments('dev', 'prod')
    const helm = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'app' }
    const verification = { checks: [{ url }], interval: '1s' }
    await on.test.pipeline(
      'app',
      sleeping({ healthy: 'true' }, { environments: [dev!, { ...prod!, appRef: helm, verification }] }),
    )
    const failing = await on.test.until(
      'app',
      ({ status }) => status?.environments?.['prod']?.promotion?.verification?.state === 'Failing',
    )
    expect(failing.status?.environments?.['prod']?.promotion?.verification?.message).toBe(`${url} answered 503`)
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
    expect(calls).toHaveLength(2)
    proxy.close()
  })
})

describe('N41: an application that the real activator has put to sleep', () => {
  it('is woken by the verification before its revision goes on', async () => {
    const data = mkdtempSync(join(tmpdir(), 'sojourn-sleeping-'))
    const roles = 'api,workloads,activator,promoter'
    const ports = ['--port', '0', '--proxy-port', '0']
    const sojourn = await startSojourn(['up', '--only', roles, ...ports, '--data', data, '--no-durable'])
    const config = loadKubeconfig([sojourn.said['kubeconfig']!], { now: () => Date.now(), env: {} })
    const network = networkTransport(config)
    try {
      const client = new Client(network.transport)
      await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'prod' } })
      await client.create(services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {
          name: 'app',
          namespace: 'default',
          annotations: { 'proxless/deployment': 'app', 'proxless/domains': 'localhost' },
        },
        spec: { selector: { app: 'app' }, ports: [{ port: 80 }] },
      })
      const answer = `require('http').createServer((_, answer) => answer.end('awake')).listen(process.env.PORT, '127.0.0.1')`
      await client.create(deployments, application('default', '1.1.0', [process.execPath, '-e', answer]))
      await client.create(deployments, application('prod', '1.0.0'))
      const check = { url: `${sojourn.said['proxy']!.replace('127.0.0.1', 'localhost')}/healthz` }
      const asleepOrReady = 'self.spec.replicas == 0 || self.status.?readyReplicas.orValue(0) > 0'
      const spec: PipelineSpec = {
        ...sleeping({ healthy: asleepOrReady }, { settle: { quietPeriod: '0s' } }),
        environments: [
          { name: 'dev', targets: [{ namespace: 'default' }] },
          { name: 'prod', targets: [{ namespace: 'prod' }], verification: { checks: [check], interval: '1s' } },
        ],
      }
      const place = { namespace: 'default', name: 'app' }
      const object = { apiVersion: pipelineKind.apiVersion, kind: 'Pipeline', metadata: place, spec }
      await client.create(pipelineKind.type, object)
      const promotion = async () =>
        (await client.get<Pipeline>(pipelineKind.type, place)).status?.environments?.['prod']?.promotion
      await vi.waitFor(async () => expect((await promotion())?.phase).toBe('RollingOut'), 60_000)
      expect((await promotion())?.verification).toMatchObject({ state: 'Passed' })
      expect(await client.get(deployments, place)).toMatchObject({
        spec: { replicas: 1 },
        status: { readyReplicas: 1 },
      })
    } finally {
      network.close()
      await sojourn.stop()
      rmSync(data, { recursive: true, force: true })
    }
  }, 120_000)

  function application(namespace: string, version: string, command?: string[]): KubeObject {
    const container = { name: 'app', image: 'none', ports: [{ containerPort: 80 }], ...(command ? { command } : {}) }
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace, name: 'app', labels: { version } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'app' } },
        template: { metadata: { labels: { app: 'app' } }, spec: { containers: [container] } },
      },
    }
  }
})
