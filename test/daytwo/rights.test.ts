import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { clusterRoles, type ClusterRole } from '../../src/app/install/rbac.ts'
import type { PolicyRule as Rule } from '../../src/kube/basics/policy-rule.ts'
import type { AuditedCluster } from '../access/audited-cluster.ts'
import { accountOf, flagsAs } from '../kubernetes/account.ts'
import { attempt, run } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'
import { startInstalledCluster } from './installed-cluster.ts'

const missing = await whyUnavailable('kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: rights in chosen namespaces, on a real kube-apiserver: ${missing}`)

type How = 'named' | 'found by access reviews'

/** What a role does in a namespace where an administrator has bound its rights, and must not do in another one. */
interface Scenario {
  /** Rights in the granted namespace, besides what the installation grants in the cluster. */
  readonly rules?: readonly Rule[]
  /** The installation's own rights hold in the granted namespace only, but for these of the cluster's own kinds. */
  readonly onlyThere?: readonly Rule[]
  readonly cluster?: readonly object[]
  readonly given: (namespace: string) => readonly object[]
  /** What a user does, by kubectl, in both namespaces, once a command prints this in the granted one. */
  readonly user?: readonly string[]
  readonly userAfter?: readonly [look: readonly string[], text: RegExp]
  /** Arguments of kubectl that print one thing where the role has acted, and another where not. */
  readonly look: readonly string[]
  readonly acted: RegExp
  readonly untouched: RegExp
  /** Arguments of kubectl that print what is said about the other namespace, and what that is. */
  /** Refused requests that are how it learns what it may not do for this object. */
  readonly asks?: RegExp
  readonly said?: readonly [look: readonly string[], text: RegExp]
}

const configMaps: Rule = {
  apiGroups: [''],
  resources: ['configmaps'],
  verbs: ['get', 'list', 'watch', 'patch', 'delete'],
}
const old = (namespace: string, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'old', namespace, ...metadata },
  data: { revision: 'v1' },
})
const deletes = {
  look: ['get', 'configmaps', '-o', 'name'],
  acted: /^(?!.*configmap\/old)/s,
  untouched: /configmap\/old/,
}
const condition = (kind: string, name: string, type: string) => [
  'get',
  kind,
  name,
  '-o',
  `jsonpath={.status.conditions[?(@.type=="${type}")].reason}: {.status.conditions[?(@.type=="${type}")].message}`,
]

const scenarios: Readonly<Record<ClusterRole, Scenario>> = {
  cleaner: {
    rules: [configMaps],
    given: (namespace) => [
      old(namespace),
      {
        apiVersion: 'cleaner.vtex.dev/v1alpha',
        kind: 'Cleaner',
        metadata: { name: 'preview', namespace },
        spec: {
          ttl: '1s',
          targets: [
            {
              name: 'it',
              delete: true,
              includeWhenEvaluating: true,
              reference: { version: 'v1', kind: 'ConfigMap', name: 'old' },
            },
          ],
          conditions: ['it.metadata.name == "old"'],
        },
      },
    ],
    ...deletes,
    said: [condition('cleaners.cleaner.vtex.dev', 'preview', 'Ready'), /^TargetForbidden: /],
  },
  collector: {
    rules: [configMaps],
    given: (namespace) => [
      old(namespace),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'base', namespace } },
      {
        apiVersion: 'sojourn.dev/v1alpha1',
        kind: 'Bond',
        metadata: { name: 'needs-base', namespace },
        spec: {
          dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: 'base' },
          dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'old' },
        },
      },
    ],
    user: ['delete', 'configmap', 'base'],
    userAfter: [['get', 'bond', 'needs-base', '-o', 'jsonpath={.status.phase}'], /^Active$/],
    ...deletes,
    said: [condition('bond', 'needs-base', 'Ready'), /^Forbidden: spec.dependent: /],
    asks: /configmaps get$/,
  },
  janitor: {
    rules: [configMaps],
    cluster: [
      {
        apiVersion: 'sojourn.dev/v1alpha1',
        kind: 'NotificationChannel',
        metadata: { name: 'events' },
        spec: { type: 'event' },
      },
      {
        apiVersion: 'sojourn.dev/v1alpha1',
        kind: 'CleanupPolicy',
        metadata: { name: 'old' },
        spec: {
          interval: '1s',
          minAge: '0',
          retention: { duration: '0s' },
          targets: [
            { kubernetes: { resources: [{ kind: 'ConfigMap' }], labelSelector: { matchLabels: { is: 'old' } } } },
          ],
          rules: [{ rules: [{ name: 'Expression', parameters: { expression: 'true' } }] }],
          notification: { channels: ['events'] },
          owner: { default: 'team@example.com' },
          limits: { maxDeletePercent: 100 },
          safety: { maxInventoryDropPercent: 100 },
        },
      },
    ],
    given: (namespace) => [old(namespace, { labels: { is: 'old' } })],
    ...deletes,
  },
  promoter: {
    rules: [configMaps],
    given: (namespace) => [
      old(namespace),
      {
        apiVersion: 'pipelines.weave.works/v1alpha1',
        kind: 'Pipeline',
        metadata: { name: 'app', namespace },
        spec: {
          appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'old' },
          adapter: { revision: 'self.data.revision', healthy: 'true' },
          environments: [{ name: 'dev', targets: [{ namespace }] }],
        },
      },
    ],
    look: ['get', 'pipeline', 'app', '-o', 'jsonpath={.status.environments}'],
    acted: /"revision":"v1"/,
    untouched: /^(?!.*"revision":"v1")/,
    said: [['get', 'pipeline', 'app', '-o', 'jsonpath={.status.environments.dev.targets[0].error}'], /is forbidden/],
    asks: /configmaps (?:list|watch)$/,
  },
  activator: {
    onlyThere: [
      { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['sojourn.dev'], resources: ['workschedules', 'environmentclasses'], verbs: ['list', 'watch'] },
    ],
    given: (namespace) => [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {
          name: 'web',
          namespace,
          annotations: {
            'proxless/deployment': 'web',
            'proxless/domains': `${namespace}.test`,
            'proxless/ttl-seconds': '1',
          },
        },
        spec: { ports: [{ port: 80 }] },
      },
      web(namespace),
    ],
    look: ['get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}'],
    acted: /^0$/,
    untouched: /^1$/,
  },
  environments: {
    onlyThere: [
      {
        apiGroups: ['sojourn.dev'],
        resources: ['environmentclasses', 'notificationchannels', 'cleanupoptouts', 'workschedules', 'bonds'],
        verbs: ['list', 'watch'],
      },
      { apiGroups: ['sojourn.dev'], resources: ['environmentclasses/status'], verbs: ['update', 'patch'] },
      { apiGroups: [''], resources: ['namespaces', 'persistentvolumes'], verbs: ['get', 'list', 'watch'] },
    ],
    cluster: [
      {
        apiVersion: 'sojourn.dev/v1alpha1',
        kind: 'EnvironmentClass',
        metadata: { name: 'preview' },
        spec: {
          namespaceSelector: { matchLabels: { env: 'preview' } },
          delete: { after: '7d' },
          owner: { default: 'platform@example.org' },
        },
      },
    ],
    given: (name) => [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { env: 'preview' } } },
      web(name),
    ],
    look: ['get', 'environments', '-o', 'jsonpath={.items[*].status.phase}'],
    acted: /^Awake$/,
    untouched: /^$/,
    said: [condition('environmentclass', 'preview', 'Ready'), /may not list and watch environments in .*other/],
  },
}

function web(namespace: string): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
    },
  }
}

describe.skipIf(missing)('rights on a real cluster', () => {
  let cluster: AuditedCluster
  let running: SojournProcess | undefined
  beforeAll(async () => {
    cluster = await startInstalledCluster()
  }, 900_000)
  afterEach(async () => {
    await running?.kill()
  })
  afterAll(() => cluster?.stop())

  const kubectl = (...args: readonly string[]) => run('kubectl', args, cluster)
  const apply = (...objects: readonly object[]) =>
    run('kubectl', ['apply', '-f', '-'], {
      ...cluster,
      input: objects.map((each) => JSON.stringify(each)).join('\n---\n'),
    })

  const start = async (role: ClusterRole, ...flags: readonly string[]) => {
    const own = Object.entries(flagsAs(role, await accountOf(cluster, role)))
    running = await SojournProcess.start([...own.map(([name, value]) => `--${name}=${value}`), ...flags])
    return running
  }
  const refusedOf = (role: ClusterRole) =>
    cluster
      .asked(`sojourn-${role}`)
      .filter(({ isAllowed }) => !isAllowed)
      .map(({ what }) => what)

  it('the default collector asks for nothing that is refused, and says in one line what it does not watch', async () => {
    const process = await start('collector')
    const linesWith = (words: string) => process.output.split('\n').filter((line) => line.includes(words))
    await expect.poll(() => process.output, { timeout: 60_000 }).toContain('kinds not watched')
    await new Promise((resolve) => setTimeout(resolve, 20_000))
    const errors = linesWith('"level":"error"')
    const refused = refusedOf('collector')
    console.info(`collector, 20 s: ${refused.length} refused requests, ${errors.length} error lines (f6ae480: 80, 64)`)
    expect(refused).toEqual([])
    expect(errors).toEqual([])
    expect(linesWith('kinds not watched')).toHaveLength(1)
  })

  it.each<readonly [ClusterRole, How]>([
    ['cleaner', 'found by access reviews'],
    ...clusterRoles.map((role) => [role, 'named'] as const),
  ])('the %s works in the namespace where it has rights and in no other: namespaces %s', async (role, how) => {
    const {
      rules = [],
      onlyThere,
      cluster: shared = [],
      given,
      look,
      acted,
      untouched,
      said,
      asks,
      user,
      userAfter,
    } = scenarios[role]
    const [there, elsewhere] = ['granted', 'other'].map((name) => `${role}-${how.split(' ')[0]}-${name}`) as [
      string,
      string,
    ]
    for (const name of [there, elsewhere]) await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const account = `sojourn-system:sojourn-${role}`
    await apply(...bound({ role, name: 'only-here', namespace: there, rules }))
    if (onlyThere) {
      for (const each of ['', '-credentials'])
        await kubectl('delete', 'clusterrolebinding', `sojourn-${role}${each}`, '--ignore-not-found')
      await kubectl(
        '-n',
        there,
        'create',
        'rolebinding',
        role,
        `--clusterrole=sojourn-${role}`,
        `--serviceaccount=${account}`,
      )
      await apply(...bound({ role, name: `${role}-cluster`, rules: onlyThere }))
    }
    // As the security page says: without --namespaces, an administrator lets the role see which namespaces there are.
    const namespaceLists: Rule = { apiGroups: [''], resources: ['namespaces'], verbs: ['list'] }
    if (how !== 'named') await apply(...bound({ role, name: `${role}-lists`, rules: [namespaceLists] }))
    await apply(...shared, ...[there, elsewhere].flatMap(given))
    await start(role, ...(how === 'named' ? [`--namespaces=${there},${elsewhere}`] : []))
    const seen = async (namespace: string, what = look) =>
      (await attempt('kubectl', ['-n', namespace, ...what], cluster)).stdout
    if (userAfter)
      await expect.poll(() => seen(there, userAfter[0]), { timeout: 60_000, interval: 500 }).toMatch(userAfter[1])
    if (user) for (const each of [there, elsewhere]) await kubectl('-n', each, ...user)
    await expect.poll(() => seen(there), { timeout: 60_000, interval: 500 }).toMatch(acted)
    if (said) await expect.poll(() => seen(elsewhere, said[0]), { timeout: 30_000 }).toMatch(said[1])
    expect(await seen(elsewhere)).toMatch(untouched)
    expect(refusedOf(role).filter((what) => !asks?.test(what))).toEqual([])
  })

  /** A Role and its binding in a namespace, or a ClusterRole with a ClusterRoleBinding. */
  function bound(of: { role: ClusterRole; name: string; namespace?: string; rules: readonly Rule[] }) {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const { name, namespace, rules } = of
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
    const kind = namespace === undefined ? 'ClusterRole' : 'Role'
    const subjects = [{ kind: 'ServiceAccount', name: `sojourn-${of.role}`, namespace: 'sojourn-system' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name }
    return [
      { apiVersion, kind, metadata, rules },
      { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects },
    ]
  }
})
