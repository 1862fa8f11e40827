import type { KubeObject } from '../../kube/object.ts'
import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import { forbidden } from '../../apiserver/objects/contract/failures.ts'

type Fields = Readonly<Record<string, unknown>>

interface PodSpec extends Fields {
  readonly serviceAccountName?: string
  readonly priorityClassName?: string
  readonly priority?: number
  readonly runtimeClassName?: string
  readonly volumes?: readonly Fields[] | null
  readonly imagePullSecrets?: readonly Fields[] | null
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[] | null
}

type Container = { readonly volumeMounts?: readonly { readonly mountPath?: string }[] | null }

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Resolves what a new Pod refers to: its ServiceAccount, whose token it mounts, its PriorityClass and its RuntimeClass. */
export const podReferences: AdmissionHook = {
  mutate(review) {
    const { operation, type, subresource, object } = review
    if (operation !== 'CREATE' || type.resource !== 'pods' || subresource) return object
    const spec = (object.spec ?? {}) as PodSpec
    return {
      ...object,
      spec: { ...withAccount(review, spec), ...priorityOf(review, spec), ...overheadOf(review, spec) },
    }
  },
}

/** Names the account, and adds its secrets for images, and its token unless Pod or account opt out. `default` may be about to be created with its namespace. */
function withAccount(review: Review & { readonly object: KubeObject }, spec: PodSpec): PodSpec {
  const [name, { namespace }] = [spec.serviceAccountName || 'default', review]
  const account = find(review, 'serviceaccounts', name, namespace)
  const missing = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`
  if (!account && name !== 'default') throw forbidden(review.type, review.name, missing)
  const secrets = spec.imagePullSecrets?.length ? spec.imagePullSecrets : (account as PodSpec)?.imagePullSecrets
  const named = {
    ...spec,
    serviceAccountName: name,
    serviceAccount: name,
    ...(secrets ? { imagePullSecrets: secrets } : {}),
  }
  const mounts = spec['automountServiceAccountToken'] ?? account?.['automountServiceAccountToken'] ?? true
  if (!mounts || !account) return named
  const volume = { name: `kube-api-access-${review.object.metadata.uid?.slice(-5)}`, projected: tokenVolume }
  const mount = { name: volume.name, mountPath, readOnly: true }
  const add = (container: Container): Container => {
    const mounted = container.volumeMounts ?? []
    return mounted.some((each) => each.mountPath === mountPath)
      ? container
      : { ...container, volumeMounts: [...mounted, mount] }
  }
  return {
    ...named,
    volumes: [...(spec.volumes ?? []), volume],
    containers: (spec.containers ?? []).map(add),
    ...(spec.initContainers ? { initContainers: spec.initContainers.map(add) } : {}),
  }
}

const namespaceField = { apiVersion: 'v1', fieldPath: 'metadata.namespace' }
const tokenVolume = {
  defaultMode: 0o644,
  sources: [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef: namespaceField }] } },
  ],
}

function priorityOf(review: Review, { priorityClassName: name, priority: given }: PodSpec): Fields {
  const found = name ? find(review, 'priorityclasses.scheduling.k8s.io', name) : undefined
  const priority = (name ? (systemPriorities[name] ?? found?.['value']) : undefined) ?? 0
  if (name && !found && !(name in systemPriorities))
    throw forbidden(review.type, review.name, `no PriorityClass with name ${name} was found`)
  if (given !== undefined && given !== priority) {
    const refusal = `the integer value of priority (${given}) must not be provided in pod spec; priority admission controller`
    throw forbidden(
      review.type,
      review.name,
      `${refusal} computed ${priority as number} from the given PriorityClass name`,
    )
  }
  return { priority, preemptionPolicy: found?.['preemptionPolicy'] ?? 'PreemptLowerPriority' }
}

/** What the runtime of a Pod needs beside its containers. */
function overheadOf(review: Review, { runtimeClassName: name }: PodSpec): Fields {
  if (!name) return {}
  const found = find(review, 'runtimeclasses.node.k8s.io', name)
  if (!found) throw forbidden(review.type, review.name, `pod rejected: RuntimeClass "${name}" not found`)
  const { podFixed } = (found['overhead'] ?? {}) as { readonly podFixed?: Fields }
  return podFixed ? { overhead: podFixed } : {}
}

/** Classes that every cluster has. */
const systemPriorities: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
}

function find({ view }: Review, resource: string, name: string, namespace = ''): KubeObject | undefined {
  return view.get({ resource, namespace, name })?.document.value
}
