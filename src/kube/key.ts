import {
  apiVersionOf,
  parseApiVersion,
  type GroupVersionKind,
  type KubeObject,
  type ObjectRef,
  placeOf,
} from './object.ts'

/** What a controller works on: one object in one cluster. `kind` is `Kind.group`, version left out; `cluster` is '' at home. */
export interface Key {
  readonly cluster: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** The kind's part of a key: `ConfigMap`, `Cleaner.cleaner.vtex.dev`. */
export function kindKey({ group, kind }: Pick<GroupVersionKind, 'group' | 'kind'>): string {
  return group ? `${kind}.${group}` : kind
}

/** The key of an object, or of a reference to one. */
export function keyOf(object: KubeObject | ObjectRef, cluster = ''): Key {
  const { namespace = '', name = '' } = 'metadata' in object ? (object as KubeObject).metadata : (object as ObjectRef)
  return { cluster, kind: kindKey({ ...parseApiVersion(object.apiVersion), kind: object.kind }), namespace, name }
}

/** One string per key, and back: no part of a key may hold a slash. */
export function keyToString({ cluster, kind, namespace, name }: Key): string {
  return `${cluster}/${kind}/${namespace}/${name}`
}

/** The reverse of `keyToString`. */
export function keyFromString(text: string): Key {
  const [cluster = '', kind = '', namespace = '', name = ''] = text.split('/')
  return { cluster, kind, namespace, name }
}

/** A key's coordinates in a given version. */
export function refFromKey({ kind, namespace, name }: Key, version: string): ObjectRef {
  const dot = kind.indexOf('.')
  const group = dot < 0 ? '' : kind.slice(dot + 1)
  return {
    apiVersion: apiVersionOf({ group, version }),
    kind: dot < 0 ? kind : kind.slice(0, dot),
    ...placeOf({ name, namespace }),
  }
}
