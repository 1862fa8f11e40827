/** A reference from a dependent to what owns it, as Kubernetes stores it. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** The metadata of an object on its way to the server: nothing in it is certain yet. */
export interface ObjectMeta {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
  readonly managedFields?: readonly unknown[]
}

/** The metadata of an object that a server has stored. */
export interface StoredMeta extends ObjectMeta {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly creationTimestamp: string
}

/** Any Kubernetes object; kinds of our own narrow `spec` and `status`. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: unknown
  readonly status?: unknown
  readonly [field: string]: unknown
}

/** An object as a server returned it. */
export interface StoredObject extends KubeObject {
  readonly metadata: StoredMeta
}

/** A kind of object in one version. The core group is the empty string. */
export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Where the objects of a kind are served; what discovery tells. */
export interface ResourceType extends GroupVersionKind {
  readonly plural: string
  readonly namespaced: boolean
}

/** The coordinates of one object; a cluster-scoped one has no namespace. */
export interface ObjectRef extends Place {
  readonly apiVersion: string
  readonly kind: string
}

/** An object's coordinates within its kind. */
export interface Place {
  readonly namespace?: string
  readonly name: string
}

/** The place of an object's metadata, or of a reference. An empty namespace counts as none. */
export function placeOf({
  namespace,
  name = '',
}: {
  readonly namespace?: string | undefined
  readonly name?: string
}): Place {
  return namespace ? { name, namespace } : { name }
}

/** Splits `apps/v1` into group and version; `v1` is the core group. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/')
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

/** The reverse of `parseApiVersion`. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group ? `${group}/${version}` : version
}

/** The kind of an object, version included. */
export function kindOf(object: { readonly apiVersion: string; readonly kind: string }): GroupVersionKind {
  return { ...parseApiVersion(object.apiVersion), kind: object.kind }
}

/** The coordinates of an object that has a name. */
export function refOf({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  return { apiVersion, kind, ...placeOf(metadata) }
}

/** `Kind/name` or `Kind/namespace/name`, for people. */
export function describeRef({ kind, namespace, name }: ObjectRef): string {
  return namespace ? `${kind}/${namespace}/${name}` : `${kind}/${name}`
}

/** `configmaps`, or `cleaners.cleaner.vtex.dev` outside the core group: the name the API's messages use. */
export function groupResource({ group, plural }: { readonly group: string; readonly plural: string }): string {
  return group ? `${plural}.${group}` : plural
}

/** The object that was created first; of several in one second, the first by name. */
export function oldestOf<T extends Pick<StoredObject, 'metadata'>>(all: readonly T[]): T | undefined {
  const age = ({ metadata: { creationTimestamp, name } }: T) => `${creationTimestamp} ${name}`
  return all.length < 2 ? all[0] : all.toSorted((left, right) => (age(left) < age(right) ? -1 : 1))[0]
}
