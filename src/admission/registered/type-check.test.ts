import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { openMemoryStore } from '../../apiserver/store/sqlite-store.ts'
import { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { KubernetesAdmission } from './kubernetes-admission.ts'

const policies: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
}

let server: TestServer
let client: Client
beforeAll(async () => {
  const store = openMemoryStore(systemClock)
  const kubernetes = new KubernetesAdmission(store)
  server = await startTestServer({ clock: systemClock, store, admission: [kubernetes.hook] })
  kubernetes.start({
    server,
    uid: randomUUID,
    clock: systemClock,
    onError: console.error,
    call: () => Promise.reject(new Error('no webhook is called here')),
  })
  client = new Client(server.transport)
})
afterAll(() => server.close())

async function statusOf(name: string, expressions: readonly string[], resource: string): Promise<unknown> {
  const resourceRules = [
    {
      apiGroups: [resource.split('.')[1] ?? ''],
      apiVersions: ['v1'],
      operations: ['*'],
      resources: [resource.split('.')[0]],
    },
  ]
  await client.create(policies, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules },
      variables: [{ name: 'replicas', expression: 'object.spec.replicas' }],
      validations: expressions.map((expression) => ({ expression })),
    },
  })
  const read = async () => (await client.get<StoredObject>(policies, { name })).status
  await expect.poll(read).toMatchObject({ observedGeneration: 1 })
  return read()
}

it('says in the status which expressions do not fit the types of a kind', async () => {
  const good = [
    'object.spec.replicas > 1',
    'variables.replicas > 1',
    "object.metadata.labels['a'] == 'b'",
    "object.metadata.namespace == 'a' || object.metadata.__namespace__ == 'b'",
  ]
  const status = await statusOf(
    'types',
    [...good, "object.spec.replicas > '1'", 'object.nothing == 1'],
    'deployments.apps',
  )
  expect(status).toEqual({
    observedGeneration: 1,
    typeChecking: {
      expressionWarnings: [
        {
          fieldRef: 'spec.validations[4].expression',
          warning:
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
        },
        {
          fieldRef: 'spec.validations[5].expression',
          warning:
            "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'nothing'\n | object.nothing == 1\n | ......^\n",
        },
      ],
    },
  })
})

it('finds nothing wrong with a policy for kinds that it does not name', async () => {
  expect(await statusOf('any', ['object.nothing == 1'], '*.*')).toEqual({ observedGeneration: 1, typeChecking: {} })
})
