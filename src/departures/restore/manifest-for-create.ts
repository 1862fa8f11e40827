import { parseApiVersion, type KubeObject, placeOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import type { Client } from '../../client/client.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Departure } from '../../apis/departure.ts'
import type { PageLine } from '../records/pages.ts'

/**
 * Prepares a recorded manifest for a create: without values that the server assigned to the old object and would refuse in a new one (the uid in a Job's
 * selector, addresses, a node, a bound volume), and with placeholders for Secret values that must not be empty.
 */
export function manifestForCreate(manifest: KubeObject): KubeObject {
  const { group } = parseApiVersion(manifest.apiVersion)
  return renewals[group ? `${manifest.kind}.${group}` : manifest.kind]?.(manifest) ?? manifest
}

type Fields = Readonly<Record<string, unknown>>

const renewals: Readonly<Record<string, (manifest: KubeObject) => KubeObject>> = {
  'Job.batch': newJob,
  PersistentVolumeClaim: ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, ...without('annotations', metadata.annotations, bindMarks) },
  }),
  Pod: (manifest) => withSpec(manifest, omit(fields(manifest.spec), ['nodeName', 'ephemeralContainers'])),
  Secret: newSecret,
  Service: newService,
}

/** A Job selects its Pods by its uid, unless it has a manual selector. */
function newJob(manifest: KubeObject): KubeObject {
  const { selector: _, ...spec } = fields(manifest.spec)
  if (spec.manualSelector) return manifest
  const template = fields(spec.template)
  const inside = fields(template.metadata)
  const { metadata } = manifest
  const labels = without('labels', inside.labels as Readonly<Record<string, string>> | undefined, uidLabels)
  return withSpec(
    { ...manifest, metadata: { ...metadata, ...without('labels', metadata.labels, uidLabels) } },
    { ...spec, template: { ...template, metadata: { ...inside, ...labels } } },
  )
}

/** Releases the addresses, except for `None` of a headless Service, which its author chose. */
function newService(manifest: KubeObject): KubeObject {
  const spec = fields(manifest.spec)
  const given = spec.clusterIP === 'None' ? [] : ['clusterIP', 'clusterIPs']
  return withSpec(manifest, omit(spec, [...given, 'healthCheckNodePort']))
}

/** Not immutable: the user must be able to set the values again. A token is issued anew, for the ServiceAccount as it is now. */
function newSecret({ immutable: _, metadata, ...rest }: KubeObject): KubeObject {
  const manifest: KubeObject = {
    ...rest,
    metadata: { ...metadata, ...without('annotations', metadata.annotations, accountUid) },
  }
  const needed = neverEmpty[String(manifest.type)]
  const data = fields(manifest.data)
  return needed && data[needed.key] === ''
    ? { ...manifest, data: { ...data, [needed.key]: Buffer.from(needed.value).toString('base64') } }
    : manifest
}

/** Types of Secrets with a key that must not be empty. */
const neverEmpty: Readonly<Record<string, { readonly key: string; readonly value: string }>> = {
  'kubernetes.io/dockercfg': { key: '.dockercfg', value: '{}' },
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', value: '{"auths":{}}' },
  'kubernetes.io/ssh-auth': { key: 'ssh-privatekey', value: 'to be filled in again' },
}

/** Kubernetes deletes a token that names another uid. */
const accountUid = ['kubernetes.io/service-account.uid']
const uidLabels = ['controller-uid', 'batch.kubernetes.io/controller-uid']
const bindMarks = [
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
  'volume.kubernetes.io/selected-node',
]

function withSpec(manifest: KubeObject, spec: Fields): KubeObject {
  return { ...manifest, spec }
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function without<Name extends string>(
  name: Name,
  marks: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): { readonly [name in Name]?: Readonly<Record<string, string>> } {
  return marks === undefined ? {} : ({ [name]: omit(marks, keys) } as { [name in Name]: Record<string, string> })
}

function omit<Value>(
  record: Readonly<Record<string, Value>>,
  keys: readonly string[],
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)))
}

/** An entry of `metadata.managedFields`. */
interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
}

/**
 * Makes Helm the manager of the fields of a restored object of a release. Helm applies by server-side apply: it would refuse to roll back or upgrade an object
 * whose fields another manager owns.
 */
export async function giveToHelm(client: Client, type: ResourceType, object: StoredObject): Promise<StoredObject> {
  const { annotations, resourceVersion } = object.metadata
  const entries = (object.metadata as { managedFields?: readonly ManagedFields[] }).managedFields
  if (annotations?.['meta.helm.sh/release-name'] === undefined || entries?.length !== 1) return object
  const managedFields = entries.map((entry) => ({ ...entry, manager: 'helm', operation: 'Apply' }))
  const body = { metadata: { resourceVersion, managedFields } }
  const given = await client
    .merge<StoredObject>(type, placeOf(object.metadata), body)
    .catch(ignoring('Conflict', 'NotFound'))
  return given ?? object
}

/** Annotation of a restored object: record and old uid. By it a repeated restore finds what it has already created. */
export const restoredFrom = 'sojourn.dev/restored-from'

/** Adds the annotation to a manifest. */
export function marked(manifest: KubeObject, { metadata }: Departure, { uid }: PageLine): KubeObject {
  const annotations = { ...manifest.metadata.annotations, [restoredFrom]: `${metadata.name}/${uid}` }
  return { ...manifest, metadata: { ...manifest.metadata, annotations } }
}

/** Whether a restore created this object from the one that had this uid. */
export function isRestoredFrom({ metadata }: StoredObject, uid: string): boolean {
  return metadata.annotations?.[restoredFrom]?.endsWith(`/${uid}`) ?? false
}
