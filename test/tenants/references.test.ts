import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { approval } from '../../src/apis/approval.ts'
import { bond as bondKind } from '../../src/apis/bond.ts'
import { configMaps, namespaces, secrets } from '../../src/kube/core-types.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { signRequest } from '../../src/systems/promoter/http/signature.ts'
import { callsTo } from './callers.ts'
import { configMap, refTo } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const password = 'correct-horse-battery'
const rbac = 'rbac.authorization.k8s.io'
const roles = ['collector', 'promoter'] as const

const secret = (namespace: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  data: { password: btoa(password), value: btoa('{}') },
})

interface Leads {
  readonly user?: object
  readonly server?: string
}

interface Reads {
  readonly kind?: string
  readonly app?: string
  readonly namespace?: string
  readonly clusterRef?: Readonly<Record<string, string>>
}

/** A Pipeline of namespace a whose adapter shows what its one target holds. */
function pipeline(name: string, { kind = 'ConfigMap', app = 'app', namespace = 'a', clusterRef }: Reads): KubeObject {
  const target = { namespace, ...(clusterRef ? { clusterRef: { kind: 'GitopsCluster', ...clusterRef } } : {}) }
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: { namespace: 'a', name },
    spec: {
      appRef: { apiVersion: 'v1', kind, name: app },
      environments: [{ name: 'dev', targets: [target] }],
      adapter: { revision: kind === 'Secret' ? 'string(base64.decode(self.data.password))' : 'self.data.key' },
    },
  }
}

function bondTo(name: string, dependency: Readonly<Record<string, string>>): KubeObject {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { namespace: 'a', name },
    spec: {
      dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'app' },
      dependency: { apiVersion: 'v1', kind: 'ConfigMap', ...dependency },
      onDelete: 'Orphan',
    },
  }
}

function gitopsCluster(namespace: string, name: string, annotations = {}): KubeObject {
  return {
    apiVersion: 'gitops.weave.works/v1alpha1',
    kind: 'GitopsCluster',
    metadata: { namespace, name, annotations },
    spec: { secretRef: { name } },
  }
}

function statusOf(world: TenantWorld, kind: 'Pipeline' | 'Bond', name: string) {
  const apiVersion = kind === 'Bond' ? 'sojourn.dev/v1alpha1' : 'pipelines.weave.works/v1alpha1'
  /** The status as text, once it holds this. */
  return async (text: string) => {
    let status = ''
    await until(async () => {
      status = JSON.stringify((await world.get(refTo('a', name, kind, apiVersion)))?.status ?? {})
      return status.includes(text) || undefined
    }).catch(() => expect(status).toContain(text))
    return status
  }
}

/** Also lets the promoter's own account read ConfigMaps, as an administrator does who promotes by them. */
async function prepare(world: TenantWorld): Promise<void> {
  const metadata = { name: 'promoter-reads' }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }]
  const subjects = [{ kind: 'ServiceAccount', namespace: 'sojourn-system', name: 'sojourn-promoter' }]
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'promoter-reads' }
  await world.create('administrator', { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules })
  await world.create('administrator', {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef,
    subjects,
  })
  await world.create('tenant', configMap('a', 'app'))
  await world.create('tenant', secret('a', 'app'))
  await world.create('neighbour', configMap('b', 'app'))
  await world.create('neighbour', secret('b', 'far'))
  await world.create('neighbour', gitopsCluster('b', 'far'))
  await world.create('neighbour', gitopsCluster('b', 'lent', { 'sojourn.dev/allow-from': 'a' }))
}

describe.each(worlds)('what a tenant reads by reference: $name', ({ start, name: kind }) => {
  let world: TenantWorld
  beforeAll(async () => {
    world = await start({ roles })
    await prepare(world)
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  it('10: a Secret is no application, also in the own namespace', async () => {
    // The embedded server refuses it at once, the promoter in a cluster.
    const answer = await world.create('tenant', pipeline('c10', { kind: 'Secret' })).catch(String)
    if (typeof answer === 'string') return expect(answer).toContain('must not be Secret')
    expect(await statusOf(world, 'Pipeline', 'c10')('a Secret cannot be an application')).not.toContain(password)
  })

  it('11: an adapter sees nothing in another namespace that its author may not read', async () => {
    await world.create('tenant', pipeline('c11', { namespace: 'b' }))
    const status = await statusOf(world, 'Pipeline', 'c11')('may not get configmaps')
    expect(status).not.toContain('"revision":"value"')
  })

  it('11: an administrator refers to another namespace', async () => {
    await world.create('administrator', pipeline('c11-entitled', { namespace: 'b' }))
    await statusOf(world, 'Pipeline', 'c11-entitled')('"value"')
  })

  it('12: credentials of another namespace need its permission', async () => {
    await world.create('tenant', pipeline('c12', { clusterRef: { namespace: 'b', name: 'far' } }))
    await statusOf(world, 'Pipeline', 'c12')('belongs to another namespace: annotate it with sojourn.dev/allow-from=a')
  })

  it('17: a Bond does not tell whether an object of another namespace exists', async () => {
    await world.create('tenant', bondTo('c17', { namespace: 'b', name: 'app' }))
    await world.create('tenant', bondTo('c17-none', { namespace: 'b', name: 'none' }))
    const [there, none] = await Promise.all([
      statusOf(world, 'Bond', 'c17')('CreatorForbidden'),
      statusOf(world, 'Bond', 'c17-none')('CreatorForbidden'),
    ])
    expect(there.replaceAll('app', 'none').replaceAll(/"\d{4}-[^"]*Z"/g, '')).toBe(
      none.replaceAll('app', 'none').replaceAll(/"\d{4}-[^"]*Z"/g, ''),
    )
  })

  it.each([
    ['28: an exec plugin', { user: { exec: { command: 'touch', args: ['/tmp/taken'] } } }, 'exec plugins are not run'],
    ['29: a token file', { user: { tokenFile: '/etc/passwd' } }, 'file paths are not read'],
    [
      '29: a key file',
      { user: { 'client-certificate': '/etc/passwd', 'client-key': '/etc/passwd' } },
      'file paths are not read',
    ],
    ['64: instance metadata', { server: 'https://169.254.169.254' }, 'not allowed'],
  ])('%s in a kubeconfig is not used', async (attack, { user = {}, server = 'https://198.51.100.1' }: Leads, told) => {
    const name = attack.replaceAll(/\W+/g, '-')
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'far',
      clusters: [{ name: 'far', cluster: { server } }],
      users: [{ name: 'far', user: { token: password, ...user } }],
      contexts: [{ name: 'far', context: { cluster: 'far', user: 'far' } }],
    }
    await world.create('tenant', { ...secret('a', name), data: { value: btoa(JSON.stringify(kubeconfig)) } })
    await world.create('tenant', gitopsCluster('a', name))
    await world.create('tenant', pipeline(name, { clusterRef: { namespace: 'a', name } }))
    expect(await statusOf(world, 'Pipeline', name)(told)).not.toContain(password)
  })

  it('54: one key is one approver, whatever names its holder gives, and a named approver needs their own', async () => {
    await world.create('tenant', configMap('a', 'dev'))
    await world.create('tenant', { ...configMap('a', 'prod'), data: { key: 'older' } })
    const metadata = { namespace: 'a', name: 'approvals' }
    const data = { 'hmac-key': btoa(password), 'hmac-key.ann': btoa('of-ann') }
    await world.create('tenant', { apiVersion: 'v1', kind: 'Secret', metadata, data })
    const app = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name })
    await world.create('tenant', {
      ...pipeline('c54', { app: 'dev' }),
      spec: {
        appRef: app('dev'),
        adapter: { healthy: 'true', revision: 'self.data.key' },
        settle: { quietPeriod: '1s' },
        environments: [
          { name: 'dev', targets: [{ namespace: 'a' }] },
          { name: 'prod', appRef: app('prod'), targets: [{ namespace: 'a' }] },
        ],
        promotion: {
          approval: { required: 2 },
          strategy: { notification: {}, secretRef: { name: 'approvals' } },
        },
      },
    })
    const status = await statusOf(world, 'Pipeline', 'c54')('"AwaitingApproval"')
    const promotionId = /"promotion":\{[^}]*"id":"([0-9a-f]{16})"/.exec(status)?.[1] ?? expect.fail(status)
    const call = callsTo(world, 'promoter')
    const path = '/v1/namespaces/a/pipelines/c54/environments/prod/approvals'
    const approve = (approver: string, key: string, keyId: string) => {
      const body = JSON.stringify({ promotionId, decision: 'Approve', approver })
      const signed = { method: 'POST', path, body: Buffer.from(body) }
      const signature = signRequest(signed, { key, keyId, now: Date.now(), nonce: `${approver}-${key}` })
      return call({ path, body, headers: { 'sojourn-signature': signature } })
    }
    const answers = [await approve('eve', password, 'current'), await approve('mallory', password, 'current')]
    expect(answers.map(({ status: code }) => code)).toEqual([202, 200])
    expect((await approve('ann', password, 'ann')).status).toBe(401)
    const { items } = await world.as('administrator').list(approval.type, { namespace: 'a' })
    expect(items.map(({ spec }) => (spec as { approver: string }).approver)).toEqual(items.map(() => 'key:shared'))
    expect(await statusOf(world, 'Pipeline', 'c54')('"AwaitingApproval"')).toContain(promotionId)
  })

  it('94: an object has 100 owners at most, and each is looked up once', async () => {
    const reference = (index: number) => ({ ...refTo('a', `ghost-${index}`), uid: `c94-${index}` })
    const withOwners = (count: number) => {
      const ownerReferences = Array.from({ length: count }, (_, index) => {
        const { namespace: _none, ...owner } = reference(index)
        return owner
      })
      return { ...configMap('a', `c94-${count}`), metadata: { namespace: 'a', name: `c94-${count}`, ownerReferences } }
    }
    const started = performance.now()
    if (kind === 'embedded') await expect(world.create('tenant', withOwners(4000))).rejects.toThrow('ownerReferences')
    else await world.create('tenant', withOwners(4000))
    expect(performance.now() - started).toBeLessThan(5000)
    // Nothing else waits for it.
    await world.create('tenant', configMap('a', 'c94-other'))
    await world.create('tenant', bondTo('c94', { name: 'c94-other' }))
    await statusOf(world, 'Bond', 'c94')('"Active"')
  })

  it('13: the name of a Secret leads into no other namespace', async () => {
    const everywhere = world.as('administrator')
    expect(await everywhere.get(secrets, { namespace: 'b', name: 'far' })).toBeDefined()
    for (const name of ['b/far', '../b/far', 'b%2Ffar', '../../b/secrets/far', '..%2F..%2Fb%2Fsecrets%2Ffar'])
      await expect(everywhere.get(secrets, { namespace: 'a', name })).rejects.toThrow(
        /not found|could not find|invalid/,
      )
  })

  it('46: an annotation deletes nothing that its author may not delete', async () => {
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { namespace: 'a', name: 'annotator' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'] }],
    })
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { namespace: 'a', name: 'annotator' },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'annotator' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'annotator' }],
    })
    const attributes = { verb: 'patch', group: '', resource: 'configmaps', namespace: 'a' }
    await world.may('annotator', attributes, true)
    // On kube-apiserver a namespace opts in.
    const labels = { 'sojourn.dev/depends-on': 'cascade' }
    const body = { metadata: { labels } }
    await world.as('administrator').patch(namespaces, { name: 'a' }, { type: 'merge', body })
    for (const name of ['c46', 'c46-base', 'c46-own']) await world.create('tenant', configMap('a', name))
    const annotations = { 'config.kubernetes.io/depends-on': '/namespaces/a/ConfigMap/c46-base' }
    const annotate = (user: string, name: string) =>
      world
        .asUser(user)
        .patch(configMaps, { namespace: 'a', name }, { type: 'merge', body: { metadata: { annotations } } })
    await expect(annotate('annotator', 'c46')).rejects.toThrow(/cannot delete configmap/i)
    await annotate('tenant', 'c46-own')
    const { uid } = (await world.get(refTo('a', 'c46-own')))!.metadata
    await until(async () => {
      const { items } = await world.as('tenant').list(bondKind.type, { namespace: 'a' })
      const made = items.find(({ metadata }) => metadata.labels?.['sojourn.dev/dependent-uid'] === uid)
      return (made?.status as { phase?: string } | undefined)?.phase === 'Active' || undefined
    })
    await world.as('tenant').request({ method: 'DELETE', path: '/api/v1/namespaces/a/configmaps/c46-base' })
    await world.gone(refTo('a', 'c46-own'))
    expect(await world.get(refTo('a', 'c46'))).toBeDefined()
  })

  it('17: an administrator binds to another namespace', async () => {
    await world.create('administrator', bondTo('c17-entitled', { namespace: 'b', name: 'app' }))
    await statusOf(world, 'Bond', 'c17-entitled')('"Active"')
  })
})

describe.each(worlds)('--no-cross-namespace-refs: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => {
    world = await start({ roles, flags: { 'no-cross-namespace-refs': true } })
    await prepare(world)
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const closed = 'only read in its own namespace a (--no-cross-namespace-refs)'

  it('keeps Pipelines of an administrator in their namespace', async () => {
    await world.create('administrator', pipeline('closed', { namespace: 'b' }))
    await statusOf(world, 'Pipeline', 'closed')(closed)
    await world.create('tenant', pipeline('home', {}))
    await statusOf(world, 'Pipeline', 'home')('"value"')
  })

  it('keeps Pipelines off GitopsClusters that another namespace lends', async () => {
    await world.create('administrator', pipeline('closed-cluster', { clusterRef: { namespace: 'b', name: 'lent' } }))
    await statusOf(world, 'Pipeline', 'closed-cluster')(closed)
  })

  it('keeps Bonds of an administrator in their namespace', async () => {
    await world.create('administrator', bondTo('closed', { namespace: 'b', name: 'app' }))
    await statusOf(world, 'Bond', 'closed')(closed)
    await world.create('administrator', bondTo('closed-cluster', { cluster: 'b.lent', name: 'app' }))
    await statusOf(world, 'Bond', 'closed-cluster')(closed)
  })
})

describe.each(worlds)('what is opened for a Pipeline or Bond: $name', ({ start }) => {
  it('137: no connection with credentials that its author may not use', async () => {
    const asked: string[] = []
    await using server = createServer((socket) => {
      asked.push('connection')
      socket.destroy()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await using world = await start({ roles, flags: { 'allow-outgoing': '127.0.0.0/8' } })
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'far',
      clusters: [{ name: 'far', cluster: { server: `https://127.0.0.1:${port}` } }],
      users: [{ name: 'far', user: { token: password } }],
      contexts: [{ name: 'far', context: { cluster: 'far', user: 'far' } }],
    }
    const data = { value: btoa(JSON.stringify(kubeconfig)) }
    await world.create('neighbour', { ...secret('b', 'far'), data })
    await world.create('neighbour', gitopsCluster('b', 'far'))
    const clusterRef = { namespace: 'b', name: 'far' }
    await world.create('tenant', pipeline('c137', { clusterRef }))
    await statusOf(world, 'Pipeline', 'c137')('belongs to another namespace')
    await world.create('tenant', bondTo('c137', { cluster: 'b.far', name: 'app' }))
    await statusOf(world, 'Bond', 'c137')('message')
    expect(asked).toEqual([])
    await world.create('administrator', pipeline('c137-entitled', { clusterRef }))
    await until(() => Promise.resolve(asked[0]))
  })
})
