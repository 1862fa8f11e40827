import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readConfig } from '../../src/app/config/config.ts'
import { startUp } from '../../src/app/embedded/up.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { configMaps, services } from '../../src/kube/core-types.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { until } from '../node-world.ts'

let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'restart-'))
})
afterEach(() => rmSync(data, { recursive: true }))

async function start() {
  const up = await startUp(
    readConfig({ flags: { data, port: '0', 'proxy-port': '0', only: 'api' }, env: {} }),
    silentLogger,
  )
  const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }), {
    userAgent: 'test',
  })
  const stop = async () => {
    network.close()
    await up.stop()
  }
  return { api: up.api, client: new Client(network.transport), [Symbol.asyncDispose]: stop }
}

const api = '/apis/admissionregistration.k8s.io/v1'
const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*', '*/*'] }
const refusals: readonly [string, string, object][] = [
  [
    'a policy',
    'validatingadmissionpolicies',
    { spec: { matchConstraints: { resourceRules: [everything] }, validations: [{ expression: 'false' }] } },
  ],
  [
    'a webhook that does not run',
    'validatingwebhookconfigurations',
    {
      webhooks: [
        {
          name: 'gone.example.com',
          clientConfig: { service: { namespace: 'default', name: 'gone' } },
          rules: [everything],
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
        },
      ],
    },
  ],
]

it.each(refusals)(
  'starts although %s refuses every write, and catches up once it is deleted',
  async (_, plural, body) => {
    {
      await using first = await start()
      await first.client.request({
        method: 'POST',
        path: `${api}/${plural}`,
        body: { ...body, metadata: { name: 'no' } },
      })
      const binding = { metadata: { name: 'no' }, spec: { policyName: 'no', validationActions: ['Deny'] } }
      await first.client.request({ method: 'POST', path: `${api}/validatingadmissionpolicybindings`, body: binding })
    }
    await using second = await start()
    const { client } = second
    const published = async () => {
      const { data: told } = await client.get<StoredObject & { data: { api: string } }>(configMaps, {
        namespace: 'sojourn-system',
        name: 'sojourn-endpoints',
      })
      const { spec } = await client.get<StoredObject & { spec: { ports: { targetPort: number }[] } }>(services, {
        namespace: 'default',
        name: 'kubernetes',
      })
      return [told.api, spec.ports[0]?.targetPort]
    }
    expect(await published()).not.toEqual([second.api, Number(new URL(second.api).port)])
    await client.request({ method: 'DELETE', path: `${api}/${plural}/no` })
    await until(async () => (await published()).join() === `${second.api},${new URL(second.api).port}`)
  },
)
