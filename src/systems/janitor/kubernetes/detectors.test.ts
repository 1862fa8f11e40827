import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import type { Use } from '../resource.ts'
import { customReferences } from './custom-references.ts'
import { unused } from './detector.ts'
import { detectorFor } from './detectors.ts'
import { mentionsIn, textsOf } from './mentions.ts'
import type { WellKnown } from './well-known.ts'

type Given = Partial<Record<WellKnown, readonly StoredObject[]>>

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
  custom: Use = unused('nothing refers to it'),
): Use['state'] {
  const detector = detectorFor(kind)
  if (!detector) throw new Error(`no detector for ${kind}`)
  const list = (wanted: WellKnown) => {
    if (!detector.needs.includes(wanted)) throw new Error(`${kind} did not say that it needs ${wanted}`)
    return given[wanted] ?? []
  }
  return detector.prepare({ list, customUse: () => custom })(subject).state
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

  it('leaves alone what programs find by themselves', () => {
    expect(use('Secret', object('Secret', 'x', { type: 'helm.sh/release.v1' }))).toBe('used')
    expect(use('ConfigMap', object('ConfigMap', 'kube-root-ca.crt'))).toBe('used')
  })

  it('is in doubt where custom resources may refer to it', () =>
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
  it('look through our own kinds always, through others as told', async () => {
    const foreign = [definition('example.org', 'Thing')]
    const own = [definition('pipelines.weave.works', 'Pipeline')]
    expect((await customReferences('Unknown', { definitions: foreign, mentions }))('it').state).toBe('unknown')
    expect((await customReferences('Scan', { definitions: foreign, mentions }))('it').state).toBe('used')
    expect((await customReferences('Scan', { definitions: foreign, mentions }))('other').state).toBe('unused')
    expect((await customReferences('Ignore', { definitions: foreign, mentions }))('it').state).toBe('unused')
    expect((await customReferences('Ignore', { definitions: own, mentions }))('it').state).toBe('used')
  })

  it('find a name however deep it stands', () => {
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
    ['a claim nobody mounts', 'PersistentVolumeClaim', object('PersistentVolumeClaim', 'c'), {}, 'unused'],
    [
      'a claim of a pod',
      'PersistentVolumeClaim',
      object('PersistentVolumeClaim', 'c'),
      { pods: [pod({ volumes: [{ persistentVolumeClaim: { claimName: 'c' } }] })] },
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
    ['a Service that wakes', 'Service', service({}, { annotations: { 'proxless/domains': 'x' } }), {}, 'used'],
    ['an ExternalName', 'Service', service({ type: 'ExternalName' }), {}, 'used'],
    ['a Deployment at zero', 'Deployment.apps', template('Deployment', {}, { replicas: 0 }), {}, 'unused'],
    ['a running Deployment', 'Deployment.apps', template('Deployment', {}, { replicas: 1 }), {}, 'used'],
    [
      'a Deployment asleep behind a Service',
      'Deployment.apps',
      template('Deployment', {}, { replicas: 0 }),
      { services: [service({}, { annotations: { 'proxless/deployment': 'web' } })] },
      'used',
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
    ['a suspended CronJob', 'CronJob.batch', object('CronJob', 'c', { spec: { suspend: true } }), {}, 'unused'],
    ['an Ingress to nowhere', 'Ingress.networking.k8s.io', ingress('gone'), {}, 'unused'],
    ['an Ingress to a Service', 'Ingress.networking.k8s.io', ingress('web'), { services: [service({})] }, 'used'],
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
    ['a role nobody has', 'Role.rbac.authorization.k8s.io', role, {}, 'unused'],
    [
      'a role somebody has',
      'Role.rbac.authorization.k8s.io',
      role,
      { rolebindings: [binding({ kind: 'Role', name: 'reader' }, [])] },
      'used',
    ],
    ['an account nobody runs as', 'ServiceAccount', account, {}, 'unused'],
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
})
