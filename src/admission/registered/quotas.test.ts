import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { openMemoryStore } from '../../apiserver/store/sqlite-store.ts'
import { Client } from '../../client/client.ts'
import { configMaps, pods } from '../../kube/core-types.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { KubernetesAdmission } from './kubernetes-admission.ts'

const quotas: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
}
const jobs: ResourceType = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true }
const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

describe('quotas', () => {
  let server: TestServer
  let client: Client
  const errors: unknown[] = []
  beforeAll(async () => {
    const store = openMemoryStore(systemClock)
    const kubernetes = new KubernetesAdmission(store)
    server = await startTestServer({ clock: systemClock, store, admission: [kubernetes.hook] })
    const call = () => Promise.reject(new Error('no webhook is called here'))
    kubernetes.start({ server, uid: randomUUID, clock: systemClock, onError: (error) => errors.push(error), call })
    client = new Client(server.transport)
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    await vi.waitFor(() => client.get(configMaps, { namespace: 'team', name: 'kube-root-ca.crt' }), 20_000)
  })
  afterAll(() => server.close())
  const quota = (name: string, spec: object) =>
    client.create(quotas, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name, namespace: 'team' }, spec })
  const used = async (name: string) =>
    ((await client.get<StoredObject>(quotas, { namespace: 'team', name })).status as { used?: object } | undefined)
      ?.used
  const map = (name: string) =>
    client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' } })
  const pod = (name: string, cpu: string) =>
    client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'team' },
      spec: { containers: [{ name: 'main', image: 'x', resources: { requests: { cpu } } }] },
    })

  it('admit no more than they allow, however many ask at once, and report what is used', async () => {
    await quota('maps', { hard: { 'count/configmaps': '4' } })
    // The namespace has one from the start, the certificate of the server.
    const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f'].map(map))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    await vi.waitFor(async () => expect(await used('maps')).toEqual({ 'count/configmaps': '4' }), 20_000)
    await client.request({ method: 'DELETE', path: '/api/v1/namespaces/team/configmaps/a' })
    await vi.waitFor(async () => expect(await used('maps')).toEqual({ 'count/configmaps': '3' }), 20_000)
  })

  it('count only the Pods of their scopes', async () => {
    await quota('best-effort', { hard: { pods: '0' }, scopes: ['BestEffort'] })
    await quota('cpu', { hard: { 'requests.cpu': '1500m' } })
    await pod('first', '1')
    await expect(pod('second', '1')).rejects.toThrow(
      'pods "second" is forbidden: exceeded quota: cpu, requested: requests.cpu=1, used: requests.cpu=1, limited: requests.cpu=1500m',
    )
    await vi.waitFor(async () => expect(await used('best-effort')).toEqual({ pods: '0' }), 20_000)
  })

  it('count Pods with an affinity to those of other namespaces', async () => {
    await quota('across', { hard: { pods: '0' }, scopes: ['CrossNamespacePodAffinity'] })
    const term = { topologyKey: 'zone', namespaceSelector: {} }
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
    const spec = { affinity, containers: [{ name: 'main', image: 'x', resources: { requests: { cpu: '1m' } } }] }
    const across = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'across', namespace: 'team' }, spec }
    await expect(client.create(pods, across)).rejects.toThrow('exceeded quota: across')
    await pod('within', '1m')
  })

  it.each([
    ['a scope that is not evaluated', { scopes: ['VolumeAttributesClass'], hard: { persistentvolumeclaims: '1' } }],
    ['a scope that does not exist', { scopeSelector: { matchExpressions: [{ scopeName: 'x', operator: 'Exists' }] } }],
    ['scopes that exclude each other', { scopes: ['Terminating', 'NotTerminating'] }],
    ['what its scope does not count', { scopes: ['BestEffort'], hard: { cpu: '1' } }],
    [
      'a scope without values',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In' }] } },
    ],
  ])('is refused for %s', async (_, spec) => {
    await expect(quota('refused', spec)).rejects.toThrow(/spec\.scope/)
  })

  it('try again when their status cannot be written, and stop nothing else', async () => {
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic'
    const send = (plural: string, body: object) => client.request({ method: 'POST', path: policies + plural, body })
    const named = (spec: object) => ({ metadata: { name: 'fixed' }, spec })
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['resourcequotas/status'] }
    await send('ies', named({ matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false' }] }))
    await send('ybindings', named({ policyName: 'fixed', validationActions: ['Deny'] }))
    await quota('later', { hard: { 'count/secrets': '4' } })
    await vi.waitFor(() => expect(errors.map(String)).toContainEqual(expect.stringContaining("'fixed'")), 20_000)
    await client.request({ method: 'DELETE', path: `${policies}ies/fixed` })
    await vi.waitFor(async () => expect(await used('later')).toEqual({ 'count/secrets': '0' }), 20_000)
  })
})

describe('what the server does not do', () => {
  it.each([
    [
      'podFailurePolicy',
      { podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } }] } },
    ],
    ['backoffLimitPerIndex', { backoffLimitPerIndex: 1, completions: 1, completionMode: 'Indexed' }],
    ['successPolicy', { successPolicy: { rules: [{ succeededCount: 1 }] }, completions: 1, completionMode: 'Indexed' }],
  ])('is refused, not ignored: %s', async (field, spec) => {
    await using server = await startTestServer({ clock: systemClock })
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } }
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job', namespace: 'default' } }
    await expect(new Client(server.transport).create(jobs, { ...job, spec: { ...spec, template } })).rejects.toThrow(
      `spec.${field}: Forbidden: not supported by the embedded server`,
    )
  })
})
