import type { StoredObject } from '../../../../kube/object.ts'
import type { ClusterView } from './detector.ts'
import { annotationTexts } from './mentions.ts'
import type { ReferrerKind } from './referrer-types.ts'

/** The parts of a pod spec that name other objects. */
export interface PodSpec {
  readonly serviceAccountName?: string
  readonly serviceAccount?: string
  readonly priorityClassName?: string
  readonly imagePullSecrets?: readonly Named[]
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly ephemeralContainers?: readonly Container[]
  readonly volumes?: readonly Volume[]
}

interface Named {
  readonly name?: string
}

interface Container {
  readonly name?: string
  readonly image?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly {
    readonly value?: string
    readonly valueFrom?: { readonly configMapKeyRef?: Named; readonly secretKeyRef?: Named }
  }[]
  readonly envFrom?: readonly { readonly configMapRef?: Named; readonly secretRef?: Named }[]
}

interface Volume {
  readonly name?: string
  readonly configMap?: Named
  readonly secret?: { readonly secretName?: string }
  readonly persistentVolumeClaim?: { readonly claimName?: string }
  readonly projected?: { readonly sources?: readonly { readonly configMap?: Named; readonly secret?: Named }[] }
  readonly [source: string]: unknown
}

/** A pod that runs, or the template of pods that may, and whose it is. */
export interface PodSource {
  readonly owner: StoredObject
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: PodSpec
}

export const podSourceKinds = [
  'pods',
  'podtemplates',
  'replicationcontrollers',
  'deployments',
  'statefulsets',
  'daemonsets',
  'replicasets',
  'jobs',
  'cronjobs',
] as const satisfies readonly ReferrerKind[]

/** Every pod and pod template of a cluster. */
export function* podSources(cluster: Pick<ClusterView, 'list'>): Generator<PodSource> {
  for (const kind of podSourceKinds) {
    for (const owner of cluster.list(kind)) {
      const template = templateOf(owner)
      if (!template) continue
      const { metadata: { labels = {}, annotations = {} } = {}, spec = {} } = template
      yield { owner, namespace: owner.metadata.namespace ?? '', labels, annotations, spec }
    }
  }
}

interface Template {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: PodSpec
}

function templateOf(object: StoredObject): Template | undefined {
  const spec = object.spec as { template?: Template; jobTemplate?: { spec?: { template?: Template } } } | undefined
  switch (object.kind) {
    case 'Pod':
      return object as unknown as Template
    case 'PodTemplate':
      return object.template as Template | undefined
    case 'CronJob':
      return spec?.jobTemplate?.spec?.template
    default:
      return spec?.template
  }
}

/** A ConfigMap, Secret or claim that a pod spec names, and the field that names it. */
export interface PodReference {
  readonly kind: 'ConfigMap' | 'Secret' | 'PersistentVolumeClaim'
  readonly name: string
  /** `volume config`, `container app`. */
  readonly where: string
}

/** The ConfigMaps, Secrets and claims that a pod spec names. */
export function referencesOf(spec: PodSpec): readonly PodReference[] {
  const found: PodReference[] = []
  const add = (kind: PodReference['kind'], name: string | undefined, where: string) => {
    if (name !== undefined) found.push({ kind, name, where })
  }
  for (const { name } of spec.imagePullSecrets ?? []) add('Secret', name, 'imagePullSecrets')
  for (const container of containersOf(spec)) {
    const where = `container ${container.name ?? ''}`.trim()
    const env = (container.env ?? []).map(({ valueFrom }) => valueFrom)
    for (const from of env) add('ConfigMap', from?.configMapKeyRef?.name, where)
    for (const from of env) add('Secret', from?.secretKeyRef?.name, where)
    for (const { configMapRef } of container.envFrom ?? []) add('ConfigMap', configMapRef?.name, where)
    for (const { secretRef } of container.envFrom ?? []) add('Secret', secretRef?.name, where)
  }
  for (const volume of spec.volumes ?? []) {
    const where = `volume ${volume.name ?? ''}`.trim()
    add('ConfigMap', volume.configMap?.name, where)
    for (const name of [volume.secret?.secretName, ...secretRefsIn(volume)]) add('Secret', name, where)
    add('PersistentVolumeClaim', volume.persistentVolumeClaim?.claimName, where)
    for (const source of volume.projected?.sources ?? []) {
      add('ConfigMap', source.configMap?.name, where)
      add('Secret', source.secret?.name, where)
    }
  }
  return found
}

/** Whether a controller made the object: what it says, the controller's template says as well. */
export function hasController({ metadata }: StoredObject): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller) ?? false
}

export function containersOf({ containers = [], initContainers = [], ephemeralContainers = [] }: PodSpec) {
  return [...containers, ...initContainers, ...ephemeralContainers]
}

/** What a pod's programs are told in words: `--configmap=$(POD_NAMESPACE)/settings`, `vault.hashicorp.com/agent-configmap: settings`. */
export function wordsOf({ spec, annotations }: Pick<PodSource, 'spec' | 'annotations'>): readonly string[] {
  return [
    ...annotationTexts(annotations),
    ...containersOf(spec).flatMap(({ command = [], args = [], env = [] }) => [
      ...command,
      ...args,
      ...env.flatMap(({ value }) => value ?? []),
    ]),
  ]
}

/** The claims made for the volumes that a pod brings along. */
export function ephemeralClaims({ metadata, spec }: StoredObject): readonly string[] {
  const { volumes = [] } = (spec ?? {}) as PodSpec
  return volumes.flatMap(({ name, ephemeral }) => (ephemeral ? [`${metadata.name}-${name}`] : []))
}

/** Volume drivers of all sorts keep credentials under `secretRef`, `nodePublishSecretRef`, `secretName`. */
function secretRefsIn(volume: Volume): readonly (string | undefined)[] {
  return Object.values(volume).flatMap((source) => {
    if (typeof source !== 'object' || source === null) return []
    const { secretRef, nodePublishSecretRef, secretName } = source as {
      secretRef?: Named
      nodePublishSecretRef?: Named
      secretName?: string
    }
    return [secretRef?.name, nodePublishSecretRef?.name, secretName]
  })
}
