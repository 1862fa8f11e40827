import type { KubeObject, ObjectRef } from '../../src/kube/object.ts'

export function configMap(
  namespace: string,
  name: string,
  metadata: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  } = {},
): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, ...metadata }, data: { key: 'value' } }
}

/** A reference to a ConfigMap, or to an object of another kind. */
export function refTo(namespace: string, name: string, kind = 'ConfigMap', apiVersion = 'v1'): ObjectRef {
  return { apiVersion, kind, namespace, name }
}

export function refToCleaner(namespace: string, name: string): ObjectRef {
  return refTo(namespace, name, 'Cleaner', 'cleaner.vtex.dev/v1alpha')
}

interface CleanerOverrides {
  /** Names of ConfigMaps to delete. */
  readonly deletes?: readonly string[]
  readonly spec?: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** A Cleaner whose TTL has expired. */
export function cleaner(namespace: string, name: string, overrides: CleanerOverrides = {}): KubeObject {
  const { deletes = [], spec = {}, annotations } = overrides
  const targets = deletes.map((target, index) => ({
    name: `t${index}`,
    delete: true,
    reference: { apiVersion: 'v1', kind: 'ConfigMap', name: target },
  }))
  return {
    apiVersion: 'cleaner.vtex.dev/v1alpha',
    kind: 'Cleaner',
    metadata: { namespace, name, ...(annotations ? { annotations } : {}) },
    spec: { ttl: '0s', ...(targets.length > 0 ? { targets } : {}), ...spec },
  }
}
