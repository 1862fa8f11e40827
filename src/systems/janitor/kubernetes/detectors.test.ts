import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import { unknownUse, unused, used, type Use } from '../model/resource.ts'
import { aggregatedVersions, customReferences, customResidents, definedTypes } from './custom-references.ts'
import { detectorFor } from './detectors.ts'
import { KubeResource } from './kube-resource.ts'
import { knownConsumers } from './references/known-consumers.ts'
import { mentionsIn, textsOf } from './references/mentions.ts'
import type { ReferrerKind } from './references/referrer-types.ts'

type Given = Partial<Record<ReferrerKind, readonly StoredObject[]>>

function object(kind: string, name: string, rest: Record<string, unknown> = {}): StoredObject {
  const { metadata = {}, ...fields } = rest
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: 'team',
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
      ...(metadata as object),
    },
    spec: {},
    ...fields,
  } as StoredObject
}

function use(
  kind: string,
  subject: StoredObject,
  given: Given = {},
  custom: Use | ((name: string) => Use) = unused('nothing refers to it'),
): Use['state'] {
  const detector = detectorFor(kind)
  if (!detector) throw new Error(`no detector for ${kind}`)
  const list = (wanted: ReferrerKind) => {
    if (!detector.needs.includes(wanted)) throw new Error(`${kind} did not say that it needs ${wanted}`)
    return given[wanted] ?? []
  }
  const customUse = typeof custom === 'function' ? custom : () => custom
  return detector.prepare({ list, customUse, customUseIn: customUse, customUseOf: customUse })(subject).state
}

const pod = (spec: Record<string, unknown>) => object('Pod', 'user', { spec })
const template = (kind: string, spec: Record<string, unknown>, rest: Record<string, unknown> = {}) =>
  object(kind, 'web', { spec: { template: { metadata: { labels: { app: 'web' } }, spec }, ...rest } })

describe('ConfigMaps and Secrets', () => {
  const env = (name: string) => ({ containers: [{ env: [{ valueFrom: { configMapKeyRef: { name } } }] }] })
  it.each<[string, Given, Use['state']]>([
    ['nothing', {}, 'unused'],
    ['a container’s environment', { pods: [pod(env('it'))] }, 'used'],
    ['another’s environment', { pods: [pod(env('other'))] }, 'unused'],
    [
      'an init container',
      { pods: [pod({ initContainers: [{ envFrom: [{ configMapRef: { name: 'it' } }] }] })] },
      'used',
    ],
    [
      'an ephemeral container',
      { pods: [pod({ ephemeralContainers: [{ envFrom: [{ configMapRef: { name: 'it' } }] }] })] },
      'used',
    ],
    ['a volume', { pods: [pod({ volumes: [{ configMap: { name: 'it' } }] })] }, 'used'],
    [
      'a projected volume',
      { pods: [pod({ volumes: [{ projected: { sources: [{ configMap: { name: 'it' } }] } }] })] },
      'used',
    ],
    ['a Deployment at zero', { deployments: [template('Deployment', env('it'), { replicas: 0 })] }, 'used'],
    [
      'a CronJob',
      { cronjobs: [object('CronJob', 'c', { spec: { jobTemplate: { spec: { template: { spec: env('it') } } } } })] },
      'used',
    ],
    [
      'a pod of another namespace',
      { pods: [{ ...pod(env('it')), metadata: { ...pod({}).metadata, namespace: 'elsewhere' } }] },
      'unused',
    ],
  ])('a ConfigMap named by %s', (_, given, expected) =>
    expect(use('ConfigMap', object('ConfigMap', 'it'), given)).toBe(expected),
  )

  it.each<[string, Given]>([
    ['a pull secret', { pods: [pod({ imagePullSecrets: [{ name: 'it' }] })] }],
    [
      'a ServiceAccount’s pull secret',
      { serviceaccounts: [object('ServiceAccount', 'sa', { imagePullSecrets: [{ name: 'it' }] })] },
    ],
    ['an Ingress’s certificate', { ingresses: [object('Ingress', 'i', { spec: { tls: [{ secretName: 'it' }] } })] }],
    [
      'named by an annotation of an Ingress',
      {
        ingresses: [
          object('Ingress', 'i', { metadata: { annotations: { 'nginx.ingress.kubernetes.io/auth-secret': 'it' } } }),
        ],
      },
    ],
    [
      'named with its namespace by an annotation of an Ingress elsewhere',
      {
        ingresses: [
          object('Ingress', 'i', {
            metadata: {
              namespace: 'edge',
              annotations: { 'nginx.ingress.kubernetes.io/auth-tls-secret': 'team/it' },
            },
          }),
        ],
      },
    ],
    [
      'needed to delete a volume',
      {
        persistentvolumes: [
          object('PersistentVolume', 'v', {
            metadata: { annotations: { 'volume.kubernetes.io/provisioner-deletion-secret-name': 'it' } },
          }),
        ],
      },
    ],
    [
      'what a definition of kinds gets its certificate from',
      {
        customresourcedefinitions: [
          object('CustomResourceDefinition', 'd', {
            metadata: { annotations: { 'cert-manager.io/inject-ca-from-secret': 'team/it' } },
          }),
        ],
      },
    ],
    [
      'named in an argument by a pod elsewhere',
      {
        pods: [
          {
            ...pod({ containers: [{ args: ['--default-ssl-certificate=team/it'] }] }),
            metadata: { ...pod({}).metadata, namespace: 'edge' },
          },
        ],
      },
    ],
    ['a volume driver', { pods: [pod({ volumes: [{ csi: { nodePublishSecretRef: { name: 'it' } } }] })] }],
    [
      'a storage class',
      {
        storageclasses: [
          object('StorageClass', 's', { parameters: { 'csi.storage.k8s.io/provisioner-secret-name': 'it' } }),
        ],
      },
    ],
  ])('a Secret that is %s is used', (_, given) => expect(use('Secret', object('Secret', 'it'), given)).toBe('used'))

  it.each<[string, Given]>([
    [
      'an argument',
      { deployments: [template('Deployment', { containers: [{ args: ['--configmap=$(POD_NAMESPACE)/it'] }] })] },
    ],
    ['a command', { pods: [pod({ containers: [{ command: ['sh', '-c', 'kubectl get cm it -o yaml'] }] })] }],
    ['the value of a variable', { pods: [pod({ initContainers: [{ env: [{ name: 'CONFIG_NAME', value: 'it' }] }] })] }],
    [
      'an annotation of a template',
      {
        deployments: [
          object('Deployment', 'web', {
            spec: {
              template: { metadata: { annotations: { 'vault.hashicorp.com/agent-configmap': 'it' } }, spec: {} },
            },
          }),
        ],
      },
    ],
    [
      'a role that gives access to it alone',
      { roles: [object('Role', 'r', { rules: [{ resources: ['configmaps'], resourceNames: ['it'] }] })] },
    ],
    [
      'a role for every namespace',
      {
        clusterroles: [
          object('ClusterRole', 'r', {
            metadata: { namespace: undefined },
            rules: [{ resources: ['configmaps'], resourceNames: ['it'] }],
          }),
        ],
      },
    ],
    [
      'a class of Ingresses',
      { ingressclasses: [object('IngressClass', 'c', { spec: { parameters: { kind: 'ConfigMap', name: 'it' } } })] },
    ],
    [
      'an admission policy, by name',
      { validatingbindings: [object('B', 'b', { spec: { paramRef: { name: 'it' } } })] },
    ],
    [
      'an admission policy, by label',
      {
        mutatingbindings: [
          object('B', 'b', { spec: { paramRef: { selector: { matchLabels: { its: 'parameter' } } } } }),
        ],
      },
    ],
  ])('a ConfigMap named by %s is used', (_, given) =>
    expect(use('ConfigMap', object('ConfigMap', 'it', { metadata: { labels: { its: 'parameter' } } }), given)).toBe(
      'used',
    ),
  )

  it.each<[string, Given]>([
    [
      'a pod elsewhere',
      { pods: [{ ...pod({ containers: [{ args: ['it'] }] }), metadata: { ...pod({}).metadata, namespace: 'edge' } }] },
    ],
    [
      'a role for something else',
      { roles: [object('Role', 'r', { rules: [{ resources: ['leases'], resourceNames: ['it'] }] })] },
    ],
    [
      'an admission policy of another namespace',
      { validatingbindings: [object('B', 'b', { spec: { paramRef: { namespace: 'edge', selector: {} } } })] },
    ],
  ])('a ConfigMap that happens to be called like something in %s is not', (_, given) =>
    expect(use('ConfigMap', object('ConfigMap', 'it'), given)).toBe('unused'),
  )

  it.each<[string, StoredObject]>([
    ['a Helm release', object('Secret', 'x', { type: 'helm.sh/release.v1' })],
    ['a Helm release kept in ConfigMaps', object('ConfigMap', 'x', { metadata: { labels: { owner: 'helm' } } })],
    [
      'part of a Helm release',
      object('ConfigMap', 'x', { metadata: { annotations: { 'meta.helm.sh/release-name': 'r' } } }),
    ],
    ['the certificate of the cluster', object('ConfigMap', 'kube-root-ca.crt')],
    ['the state of Terraform', object('Secret', 'tfstate-default-x', { metadata: { labels: { tfstate: 'true' } } })],
    ['the list of an apply set', object('Secret', 'x', { metadata: { labels: { 'applyset.kubernetes.io/id': 'a' } } })],
    ['a dashboard that Grafana loads', object('ConfigMap', 'x', { metadata: { labels: { grafana_dashboard: '1' } } })],
  ])('leaves alone %s, which programs find by themselves', (_, subject) =>
    expect(use(subject.kind, subject)).toBe('used'),
  )

  it('is unknown where custom resources may refer to it', () =>
    expect(use('ConfigMap', object('ConfigMap', 'it'), {}, { state: 'unknown', because: 'x' })).toBe('unknown'))
})

describe('custom references', () => {
  const definition = (group: string, kind: string) =>
    object('CustomResourceDefinition', kind, {
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind, plural: `${kind.toLowerCase()}s` },
        versions: [{ name: 'v1', served: true }],
      },
    })
  const mentions = async () => mentionsIn([object('Thing', 'x', { spec: { configRef: 'it' } })])
  it('search Sojourn’s own kinds always, others as configured', async () => {
    const foreign = definedTypes([definition('example.org', 'Thing')])
    const own = definedTypes([definition('pipelines.weave.works', 'Pipeline')])
    expect((await customReferences('Unknown', { types: foreign, mentions }))('it').state).toBe('unknown')
    expect((await customReferences('Scan', { types: foreign, mentions }))('it').state).toBe('used')
    expect((await customReferences('Scan', { types: foreign, mentions }))('other').state).toBe('unused')
    expect((await customReferences('Ignore', { types: foreign, mentions }))('it').state).toBe('unused')
    expect((await customReferences('Ignore', { types: own, mentions }))('it').state).toBe('used')
  })

  it('count as content of a namespace: a Crossplane claim there may be a database', async () => {
    const foreign = definedTypes([definition('example.org', 'Thing')])
    const list = async () => [object('Thing', 'x')]
    expect((await customResidents('Unknown', { types: foreign, list })).ofNamespace('team').state).toBe('unknown')
    expect((await customResidents('Scan', { types: foreign, list })).ofNamespace('team').state).toBe('used')
    expect((await customResidents('Scan', { types: foreign, list })).ofNamespace('other').state).toBe('unused')
    expect((await customResidents('Ignore', { types: foreign, list })).ofNamespace('team').state).toBe('unused')
    for (const [group, kind, state] of [
      ['pipelines.weave.works', 'Pipeline', 'used'],
      ['gitops.weave.works', 'GitopsCluster', 'used'],
      ['cleaner.vtex.dev', 'Cleaner', 'unused'],
      ['sojourn.dev', 'Departure', 'unused'],
    ] as const) {
      const types = definedTypes([definition(group, kind)])
      expect((await customResidents('Unknown', { types, list })).ofNamespace('team').state, kind).toBe(state)
    }
  })

  it('include the kinds of aggregated API servers, except metrics', () => {
    const service = (group: string, spec: object) =>
      object('APIService', group, { spec: { group, version: 'v1', ...spec } })
    const services = [
      service('apps', {}),
      service('batch', { service: null }),
      service('build.openshift.io', { service: { name: 'api' } }),
      service('metrics.k8s.io', { service: { name: 'metrics' } }),
      service('custom.metrics.k8s.io', { service: { name: 'metrics' } }),
    ]
    expect([...aggregatedVersions(services)]).toEqual(['build.openshift.io/v1'])
  })

  it('find names inside texts and annotations, but not in copies of the object', () => {
    const found = textsOf(
      object('Thing', 'x', {
        metadata: {
          annotations: {
            'example.org/secret': 'shop/it',
            'kubectl.kubernetes.io/last-applied-configuration': '{"a":"applied"}',
            'meta.helm.sh/release-name': 'released',
          },
        },
        spec: { values: 'auth:\n  existingSecret: deep.one\n  other: "quoted-two"' },
        status: { name: 'whole', message: 'a sentence' },
      }),
    )
    expect(found).toEqual(expect.arrayContaining(['it', 'deep.one', 'quoted-two']))
    expect(found).toContain('whole')
    expect(found).not.toContain('sentence')
    expect(found).not.toContain('applied')
    expect(found).not.toContain('released')
  })

  it('find a name at any depth', () => {
    let deep: unknown = 'it'
    for (let level = 0; level < 50_000; level++) deep = { deep }
    expect(textsOf(object('Thing', 'x', { spec: { deep } }))).toContain('it')
  })
})

describe('other kinds', () => {
  const set = object('StatefulSet', 'db', {
    spec: { replicas: 0, volumeClaimTemplates: [{ metadata: { name: 'data' } }] },
  })
  const service = (spec: Record<string, unknown>, metadata: Record<string, unknown> = {}) =>
    object('Service', 'web', { spec, metadata })
  const slice = object('EndpointSlice', 'web-1', {
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: [{}],
  })
  const ingress = (name: string) =>
    object('Ingress', 'i', { spec: { rules: [{ http: { paths: [{ backend: { service: { name } } }] } }] } })
  const binding = (roleRef: object, subjects: object[]) => object('RoleBinding', 'b', { roleRef, subjects })
  const role = object('Role', 'reader')
  const account = object('ServiceAccount', 'robot')
  const deployment = object('Deployment', 'web', {
    metadata: { uid: 'd', annotations: { 'deployment.kubernetes.io/revision': '2' } },
  })
  const replicaSet = (revision: string) =>
    object('ReplicaSet', 'web-1', {
      metadata: { ownerReferences: [{ uid: 'd' }], annotations: { 'deployment.kubernetes.io/revision': revision } },
      spec: { replicas: 0 },
    })

  it.each<[string, string, StoredObject, Given, Use['state']]>([
    ['a claim that no pod mounts', 'PersistentVolumeClaim', object('PersistentVolumeClaim', 'c'), {}, 'unused'],
    [
      'a claim of a pod',
      'PersistentVolumeClaim',
      object('PersistentVolumeClaim', 'c'),
      { pods: [pod({ volumes: [{ persistentVolumeClaim: { claimName: 'c' } }] })] },
      'used',
    ],
    [
      'a claim made for a pod’s own volume',
      'PersistentVolumeClaim',
      object('PersistentVolumeClaim', 'user-scratch'),
      { pods: [pod({ volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: {} } }] })] },
      'used',
    ],
    [
      'a claim that another is a copy of',
      'PersistentVolumeClaim',
      object('PersistentVolumeClaim', 'c'),
      {
        persistentvolumeclaims: [
          object('PersistentVolumeClaim', 'copy', {
            spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'c' } },
          }),
        ],
      },
      'used',
    ],
    [
      'a volume that a claim asks for',
      'PersistentVolume',
      object('PersistentVolume', 'v', { status: { phase: 'Available' } }),
      { persistentvolumeclaims: [object('PersistentVolumeClaim', 'c', { spec: { volumeName: 'v' } })] },
      'used',
    ],
    [
      'a volume kept for a claim to come',
      'PersistentVolume',
      object('PersistentVolume', 'v', {
        spec: { claimRef: { namespace: 'team', name: 'c' } },
        status: { phase: 'Available' },
      }),
      {},
      'used',
    ],
    [
      'a claim of a StatefulSet at zero',
      'PersistentVolumeClaim',
      object('PersistentVolumeClaim', 'data-db-0'),
      { statefulsets: [set] },
      'used',
    ],
    [
      'a released volume',
      'PersistentVolume',
      object('PersistentVolume', 'v', { status: { phase: 'Released' } }),
      {},
      'unused',
    ],
    ['a bound volume', 'PersistentVolume', object('PersistentVolume', 'v', { status: { phase: 'Bound' } }), {}, 'used'],
    [
      'an attachment to a lost node',
      'VolumeAttachment.storage.k8s.io',
      object('VolumeAttachment', 'a', { spec: { nodeName: 'gone' } }),
      {},
      'unused',
    ],
    ['a Service without endpoints', 'Service', service({ selector: { app: 'web' } }), {}, 'unused'],
    ['a Service with endpoints', 'Service', service({}), { endpointslices: [slice] }, 'used'],
    [
      'a Service of a Deployment at zero',
      'Service',
      service({ selector: { app: 'web' } }),
      { deployments: [template('Deployment', {}, { replicas: 0 })] },
      'used',
    ],
    [
      'a Service that converts custom resources',
      'Service',
      service({ selector: { app: 'web' } }),
      {
        customresourcedefinitions: [
          object('CustomResourceDefinition', 'd', {
            spec: { conversion: { webhook: { clientConfig: { service: { namespace: 'team', name: 'web' } } } } },
          }),
        ],
      },
      'used',
    ],
    ['a Service that wakes', 'Service', service({}, { annotations: { 'proxless/domains': 'x' } }), {}, 'used'],
    ['an ExternalName', 'Service', service({ type: 'ExternalName', externalName: 'db.example.com' }), {}, 'used'],
    ['a Deployment at zero', 'Deployment.apps', template('Deployment', {}, { replicas: 0 }), {}, 'unused'],
    ['a running Deployment', 'Deployment.apps', template('Deployment', {}, { replicas: 1 }), {}, 'used'],
    [
      'a Deployment asleep behind a Service',
      'Deployment.apps',
      template('Deployment', {}, { replicas: 0 }),
      { services: [service({}, { annotations: { 'proxless/deployment': 'web' } })] },
      'used',
    ],
    [
      'a Deployment that an autoscaler starts from nothing',
      'Deployment.apps',
      template('Deployment', {}, { replicas: 0 }),
      {
        autoscalers: [
          object('H', 'h', { spec: { minReplicas: 0, scaleTargetRef: { kind: 'Deployment', name: 'web' } } }),
        ],
      },
      'used',
    ],
    [
      'a Deployment with an autoscaler that starts nothing',
      'Deployment.apps',
      template('Deployment', {}, { replicas: 0 }),
      {
        autoscalers: [
          object('H', 'h', { spec: { minReplicas: 1, scaleTargetRef: { kind: 'Deployment', name: 'web' } } }),
        ],
      },
      'unused',
    ],
    [
      'a Deployment put to sleep for the night',
      'Deployment.apps',
      object('Deployment', 'web', {
        metadata: { annotations: { 'downscaler/original-replicas': '3' } },
        spec: { replicas: 0 },
      }),
      {},
      'used',
    ],
    [
      'a ReplicaSet of something that is not a Deployment',
      'ReplicaSet.apps',
      object('ReplicaSet', 'r', {
        metadata: { ownerReferences: [{ kind: 'Rollout', name: 'web', uid: 'x' }] },
        spec: { replicas: 0 },
      }),
      {},
      'unknown',
    ],
    ['the current ReplicaSet at zero', 'ReplicaSet.apps', replicaSet('2'), { deployments: [deployment] }, 'used'],
    ['a superseded ReplicaSet', 'ReplicaSet.apps', replicaSet('1'), { deployments: [deployment] }, 'unused'],
    [
      'a DaemonSet no node wants',
      'DaemonSet.apps',
      object('DaemonSet', 'd', { status: { desiredNumberScheduled: 0, observedGeneration: 1 } }),
      {},
      'unused',
    ],
    ['a DaemonSet not looked at yet', 'DaemonSet.apps', object('DaemonSet', 'd'), {}, 'unknown'],
    [
      'a finished Job',
      'Job.batch',
      object('Job', 'j', { status: { conditions: [{ type: 'Complete', status: 'True' }] } }),
      {},
      'unused',
    ],
    ['a running Job', 'Job.batch', object('Job', 'j', { status: { active: 1 } }), {}, 'used'],
    ['an ended Pod', 'Pod', object('Pod', 'p', { status: { phase: 'Failed' } }), {}, 'unused'],
    ['a suspended CronJob', 'CronJob.batch', object('CronJob', 'c', { spec: { suspend: true } }), {}, 'unknown'],
    ['an Ingress to nowhere', 'Ingress.networking.k8s.io', ingress('gone'), {}, 'unused'],
    ['an Ingress to a Service', 'Ingress.networking.k8s.io', ingress('web'), { services: [service({})] }, 'used'],
    [
      'an Ingress that annotations answer for',
      'Ingress.networking.k8s.io',
      {
        ...ingress('gone'),
        metadata: {
          ...ingress('gone').metadata,
          annotations: { 'nginx.ingress.kubernetes.io/permanent-redirect': 'https://x' },
        },
      },
      {},
      'unknown',
    ],
    [
      'an Ingress to nowhere by HTTPS',
      'Ingress.networking.k8s.io',
      {
        ...ingress('gone'),
        metadata: { ...ingress('gone').metadata, annotations: { 'nginx.ingress.kubernetes.io/ssl-redirect': 'true' } },
      },
      {},
      'unused',
    ],
    [
      'an Ingress to an action of its load balancer',
      'Ingress.networking.k8s.io',
      object('Ingress', 'i', {
        spec: { defaultBackend: { service: { name: 'to-https', port: { name: 'use-annotation' } } } },
      }),
      {},
      'unknown',
    ],
    ['an Ingress without any backend', 'Ingress.networking.k8s.io', object('Ingress', 'i'), {}, 'unknown'],
    [
      'an autoscaler of another StatefulSet',
      'HorizontalPodAutoscaler.autoscaling',
      object('H', 'h', {
        spec: { scaleTargetRef: { apiVersion: 'apps.kruise.io/v1beta1', kind: 'StatefulSet', name: 'x' } },
      }),
      {},
      'unknown',
    ],
    [
      'an autoscaler of nothing',
      'HorizontalPodAutoscaler.autoscaling',
      object('H', 'h', { spec: { scaleTargetRef: { kind: 'Deployment', name: 'gone' } } }),
      {},
      'unused',
    ],
    [
      'an autoscaler of a custom kind',
      'HorizontalPodAutoscaler.autoscaling',
      object('H', 'h', { spec: { scaleTargetRef: { kind: 'Rollout', name: 'x' } } }),
      {},
      'unknown',
    ],
    [
      'a budget that selects nothing',
      'PodDisruptionBudget.policy',
      object('PodDisruptionBudget', 'p', { spec: { selector: { matchLabels: { app: 'gone' } } } }),
      {},
      'unused',
    ],
    [
      'a policy for every pod',
      'NetworkPolicy.networking.k8s.io',
      object('NetworkPolicy', 'n', { spec: { podSelector: {} } }),
      {},
      'used',
    ],
    [
      'a binding to a lost role',
      'RoleBinding.rbac.authorization.k8s.io',
      binding({ kind: 'Role', name: 'gone' }, [{ kind: 'User', name: 'ann' }]),
      {},
      'unused',
    ],
    [
      'a binding for a lost account',
      'RoleBinding.rbac.authorization.k8s.io',
      binding({ kind: 'Role', name: 'reader' }, [{ kind: 'ServiceAccount', name: 'gone' }]),
      { roles: [role] },
      'unused',
    ],
    [
      'a binding for a person',
      'RoleBinding.rbac.authorization.k8s.io',
      binding({ kind: 'Role', name: 'reader' }, [{ kind: 'User', name: 'ann' }]),
      { roles: [role] },
      'used',
    ],
    ['a role without a binding', 'Role.rbac.authorization.k8s.io', role, {}, 'unused'],
    [
      'a role with a binding',
      'Role.rbac.authorization.k8s.io',
      role,
      { rolebindings: [binding({ kind: 'Role', name: 'reader' }, [])] },
      'used',
    ],
    [
      'a role that is part of another',
      'ClusterRole.rbac.authorization.k8s.io',
      object('ClusterRole', 'part', { metadata: { labels: { part: 'of-it' } } }),
      {
        clusterroles: [
          object('ClusterRole', 'all', {
            aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'of-it' } }] },
          }),
        ],
      },
      'used',
    ],
    [
      'an account bound by its user name',
      'ServiceAccount',
      account,
      { clusterrolebindings: [binding({}, [{ kind: 'User', name: 'system:serviceaccount:team:robot' }])] },
      'used',
    ],
    [
      'an account bound with all of its namespace',
      'ServiceAccount',
      account,
      { rolebindings: [binding({}, [{ kind: 'Group', name: 'system:serviceaccounts:team' }])] },
      'used',
    ],
    ['an account that no pod runs as', 'ServiceAccount', account, {}, 'unused'],
    ['an account of a pod', 'ServiceAccount', account, { pods: [pod({ serviceAccountName: 'robot' })] }, 'used'],
    ['the default account', 'ServiceAccount', object('ServiceAccount', 'default'), {}, 'used'],
    ['an empty namespace', 'Namespace', object('Namespace', 'team'), {}, 'unused'],
    [
      'a namespace with a running pod',
      'Namespace',
      object('Namespace', 'team'),
      { pods: [object('Pod', 'p', { status: { phase: 'Running' } })] },
      'used',
    ],
    [
      'a namespace whose Deployments are at zero',
      'Namespace',
      object('Namespace', 'team'),
      { deployments: [template('Deployment', {}, { replicas: 0 })] },
      'unused',
    ],
    [
      'a namespace that keeps data',
      'Namespace',
      object('Namespace', 'team'),
      { persistentvolumeclaims: [object('PersistentVolumeClaim', 'c')] },
      'used',
    ],
  ])('%s', (_, kind, subject, given, expected) => expect(use(kind, subject, given)).toBe(expected))
  it.each<[string, StoredObject]>([
    ['Service', service({ selector: { app: 'web' } })],
    ['Service', service({})],
    [
      'PodDisruptionBudget.policy',
      object('PodDisruptionBudget', 'p', { spec: { selector: { matchLabels: { app: 'web' } } } }),
    ],
    [
      'NetworkPolicy.networking.k8s.io',
      object('NetworkPolicy', 'n', {
        spec: { podSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
      }),
    ],
    ['Deployment.apps', template('Deployment', {}, { replicas: 0 })],
    ['Role.rbac.authorization.k8s.io', role],
    ['ServiceAccount', account],
    ['PersistentVolumeClaim', object('PersistentVolumeClaim', 'c')],
    ['Namespace', object('Namespace', 'team')],
  ])('%s is unknown where custom resources may need it', (kind, subject) =>
    expect(use(kind, subject, {}, unknownUse('x'))).toBe('unknown'),
  )

  it('a Service or budget for the pods of a custom resource is used', () => {
    const rollout = (name: string) => (name === 'shop' ? used('Rollout shop') : unused('nothing refers to it'))
    expect(use('Service', service({ selector: { app: 'shop' } }), {}, rollout)).toBe('used')
    expect(use('Service', service({ selector: { app: 'shop', tier: 'front' } }), {}, rollout)).toBe('unused')
  })
})

describe('what tools find by themselves', () => {
  it.each(Object.entries(knownConsumers))('C63: keeps a Secret with %s for %s', (key, tool) => {
    for (const where of ['labels', 'annotations'] as const) {
      const secret = object('Secret', 's', {
        metadata: { name: 's', namespace: 'team', [where]: { [key.replace(/-$/, '-0')]: 'x' } },
      })
      const answer = detectorFor('Secret')?.prepare({
        list: () => [],
        customUse: () => unused(''),
        customUseIn: () => unused(''),
        customUseOf: () => unused(''),
      })
      expect(answer?.(secret)).toMatchObject({ state: 'used', by: expect.stringContaining(tool) })
    }
  })

  it('C63: takes no label for a tool that only JavaScript knows', () => {
    const secret = object('Secret', 's', { metadata: { name: 's', namespace: 'team', labels: { constructor: 'x' } } })
    expect(use('Secret', secret, {})).toBe('unused')
  })

  it.each([
    ['argocd.argoproj.io/tracking-id', 'shop:apps/Deployment:team/web', 'Argo CD application shop'],
    ['kustomize.toolkit.fluxcd.io/name', 'apps', 'Flux Kustomization apps'],
    ['helm.toolkit.fluxcd.io/name', 'web', 'Flux HelmRelease web'],
    ['resourceset.fluxcd.controlplane.io/name', 'previews', 'Flux ResourceSet previews'],
  ])('C64: keeps what %s tracks', (key, value, by) => {
    const tracked = object('ConfigMap', 'c', {
      metadata: { name: 'c', namespace: 'team', annotations: { [key]: value } },
    })
    const resource = new KubeResource(tracked, {
      cluster: '',
      includeOwned: false,
      detect: () => unused('nothing refers to it'),
    })
    expect(resource.use).toMatchObject({ state: 'used', by: expect.stringContaining(by) })
  })

  it('C62: keeps the backend of an Ingress that has no endpoints', () => {
    const paths = [{ backend: { service: { name: 'web', port: { number: 80 } } } }]
    const ingress = object('Ingress', 'shop', { spec: { rules: [{ http: { paths } }] } })
    const service = object('Service', 'web', { spec: { selector: { app: 'web' } } })
    expect(use('Service', service, { ingresses: [ingress] })).toBe('used')
    expect(use('Service', service, {})).toBe('unused')
  })
})
