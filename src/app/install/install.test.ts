import { expect, it } from 'vitest'
import { allKinds } from '../../apis/all-kinds.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { startTestServer } from '../../../test/apiserver/test-server.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { readConfig } from '../config/config.ts'
import { createInstance } from '../core/instance.ts'
import { installManifests } from './install.ts'
import { accessOf, clusterRoles, rbacFor } from './rbac.ts'
import { startSystems } from '../core/systems.ts'
import { proofOfWork, work } from '../../../test/role-work.ts'

const options = { roles: clusterRoles, image: 'sojourn:1', replicas: 2, dryRun: false }
const hour = 3_600_000

it.each(clusterRoles)('lets the %s do all of its own work with its own account', async (role) => {
  const clock = new VirtualClock(Date.parse('2026-01-05T08:00:00Z'))
  await using server = await startTestServer({ clock: quietClock(clock) })
  const administrator = new Client(server.transport)
  const create = async (manifest: KubeObject) => {
    const type = await administrator.discovery.typeOf(manifest)
    if (type) await administrator.create(type, manifest)
  }
  // The embedded server judges our kinds itself and takes no webhooks.
  for (const manifest of installManifests({ ...options, roles: [role], separateRoles: true }))
    if (manifest.kind !== 'ValidatingWebhookConfiguration') await create(manifest)
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
  for (const manifest of work[role]) await create(manifest)

  const refused = new Set<string>()
  const asked = new Set<string>()
  const as = server.transportAs({
    name: `system:serviceaccount:${sojournNamespace}:sojourn-${role}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${sojournNamespace}`, 'system:authenticated'],
  })
  const transport: Transport = async (request) => {
    const answer = await as(request)
    const line = `${request.method} ${request.path}`
    asked.add(line)
    if (answer.status === 403) refused.add(line)
    return answer
  }
  const config = readConfig({ flags: { 'proxy-port': '0', 'proxy-address': '10.0.0.7', only: role }, env: {} })
  const instance = createInstance({
    config,
    client: new Client(transport),
    clock,
    log: silentLogger,
    cacheClock: quietClock(clock),
    leadership: { won: () => Promise.resolve(), holds: () => true },
  })
  await startSystems(instance, [role])
  await clock.run(clock.now() + (role === 'janitor' ? 48 * hour : hour))
  const stopped = instance.lifecycle.stop()
  // The last replica waits until no EndpointSlice leads to it.
  await clock.run(clock.now() + hour)
  await stopped

  expect(asked.size).toBeGreaterThan(5)
  // The collector looks at every kind there is; which ones it may see is the administrator's choice.
  const seesAll = role === 'collector'
  expect([...refused].filter((line) => !seesAll || !line.startsWith('GET '))).toEqual([])
  expect([...asked]).toContainEqual(expect.stringMatching(proofOfWork[role]))
})

it('applies in order: namespace, kinds, accounts, workloads, webhook', () => {
  const kinds = [...new Set(installManifests(options).map(({ kind }) => kind))]
  expect(kinds.slice(0, 3)).toEqual(['Namespace', 'CustomResourceDefinition', 'ServiceAccount'])
  expect(kinds.slice(-3)).toEqual(['Deployment', 'Service', 'ValidatingWebhookConfiguration'])
  expect(installManifests(options).filter(({ kind }) => kind === 'CustomResourceDefinition')).toHaveLength(
    allKinds.length,
  )
})

it('runs as many proxies and activators as are asked for, each of which can be found by the others', () => {
  const deployments = installManifests({ ...options, replicas: 3 }).filter(({ kind }) => kind === 'Deployment')
  expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['sojourn', 'sojourn-proxy'])
  const env = expect.arrayContaining([expect.objectContaining({ name: 'POD_IP' })]) as unknown
  for (const [index, part] of ['scaler', 'proxy'].entries()) {
    const wanted = ['--host=0.0.0.0', '--peer-port=7081', `--activator-part=${part}`]
    const args = expect.arrayContaining(wanted) as unknown
    expect(deployments[index]).toMatchObject({
      spec: { replicas: 3, template: { spec: { containers: [{ args, env }] } } },
    })
  }
})

it('gives the process that takes requests no right to write but its own Lease, and no Secret but that of the replicas', () => {
  const { reviews, cluster, own } = accessOf('proxy')
  const verbs = (rules: typeof own) => [...new Set(rules.flatMap((rule) => rule.verbs))].toSorted()
  expect(verbs(cluster)).toEqual(['get', 'list', 'watch'])
  expect(cluster.flatMap(({ resources }) => resources)).not.toContain('secrets')
  expect(verbs(reviews)).toEqual(['create'])
  const secrets = own.filter(({ resources }) => resources.includes('secrets'))
  expect(secrets).toEqual([expect.objectContaining({ resourceNames: ['sojourn-activator-peers'], verbs: ['get'] })])
  const writes = own.filter((rule) => rule.verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)))
  expect(writes.flatMap(({ resources }) => resources)).toEqual(['leases', 'leases'])
  expect(writes.find((rule) => rule.verbs.includes('update'))?.resourceNames).toContain('activator-member-0')
})

it.each([false, true])(
  'has the same roles, whether they are separate (%s) or not; only the accounts differ',
  (separateRoles) => {
    const manifests = installManifests({ ...options, separateRoles })
    const named = (wanted: string) =>
      manifests.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name)
    const accounts = separateRoles
      ? [...clusterRoles.map((role) => `sojourn-${role}`), 'sojourn-proxy']
      : ['sojourn', 'sojourn-proxy']
    for (const kind of ['ServiceAccount', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget'])
      expect([kind, named(kind)]).toEqual([kind, accounts])
    expect(named('Role')).toEqual([...clusterRoles.map((role) => `sojourn-${role}`), 'sojourn-proxy'])
    const bound = manifests.filter(({ kind }) => kind.endsWith('RoleBinding')) as unknown as readonly (KubeObject & {
      readonly subjects: readonly { readonly name: string }[]
    })[]
    for (const { metadata, subjects } of bound)
      expect(subjects[0]?.name === 'sojourn-proxy').toBe(metadata.name?.startsWith('sojourn-proxy'))
  },
)

it('lets an activator of one namespace see that one only', () => {
  const manifests = rbacFor(['activator'], { activatorNamespace: 'shop', options: ['tls'] })
  const named = (kind: string) => manifests.filter((each) => each.kind === kind)
  const resources = (object: KubeObject) =>
    ((object['rules'] ?? []) as readonly { readonly resources: readonly string[] }[]).flatMap((rule) => rule.resources)
  const reviews = ['tokenreviews', 'subjectaccessreviews']
  expect(named('ClusterRole').flatMap(resources)).toEqual([...reviews, ...reviews])
  const [scope] = named('Role').filter(({ metadata }) => metadata.namespace === 'shop')
  expect(resources(scope!)).toEqual(expect.arrayContaining(['services', 'deployments/scale', 'secrets']))
  expect(named('ClusterRoleBinding').map(({ metadata }) => metadata.name)).toEqual([
    'sojourn-activator',
    'sojourn-proxy',
  ])
  const targets = named('RoleBinding').find(({ metadata }) => metadata.name === 'sojourn-activator-targets')
  expect(targets).toMatchObject({ metadata: { namespace: 'shop' }, roleRef: { kind: 'ClusterRole' } })
})

it('grants no role the deletion of anything that belongs to users', () => {
  for (const role of clusterRoles) {
    const { cluster, credentials } = accessOf(role)
    const deletes = [...cluster, ...credentials].filter(({ verbs }) => verbs.some((verb) => /^(delete|\*)/.test(verb)))
    for (const { apiGroups } of deletes)
      for (const group of apiGroups) expect(['sojourn.dev', 'cleaner.vtex.dev', 'cleaner.vtex.io']).toContain(group)
  }
})

it('lets the activator remove its companion Services only where there are to be some', () => {
  const rules = (wanted: readonly string[]) => JSON.stringify(rbacFor(['activator'], { options: wanted }))
  expect(rules([])).not.toContain('delete')
  expect(rules([])).not.toContain('"secrets"],"verbs":["get","list","watch"]')
  expect(rules(['companions'])).toContain('delete')
  expect(rules(['companions'])).not.toContain('"endpoints"')
  expect(rules(['takeover'])).toContain('"endpoints"')
})

it('uses no wildcard and names only the accounts of the roles that are wanted', () => {
  const manifests = rbacFor(['promoter', 'api'], { separateRoles: true })
  expect(JSON.stringify(manifests)).not.toContain('"*"')
  expect(manifests.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name)).toEqual([
    'sojourn-promoter',
  ])
})
