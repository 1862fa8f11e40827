import { ensureObject, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const accountName = 'default'
const authorityMap = 'kube-root-ca.crt'
/** By which other API servers learn how this one authenticates clients. */
const authenticationMap = 'extension-apiserver-authentication'
const ownMaps: ReadonlySet<string> = new Set([authorityMap, authenticationMap])

/**
 * Creates the ServiceAccount `default` and the ConfigMap with the CA in every namespace, and restores them when they
 * are deleted.
 */
export function namespaceDefaults(ports: LifecyclePorts): LifecycleController {
  const { store, authority } = ports
  const description = 'The certificate authority to verify this API server with; not for any other server.'
  return runController(ports, 'namespace-defaults', {
    reconcile: async (namespace) => {
      const record = store.get({ resource: 'namespaces', namespace: '', name: namespace })
      if (!record || record.document.object.metadata.deletionTimestamp) return
      const annotations = { 'kubernetes.io/description': description }
      await ensureObject(ports, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: accountName, namespace },
      })
      await ensureObject(ports, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: authorityMap, namespace, annotations },
        data: { 'ca.crt': authority },
      })
      if (namespace !== 'kube-system') return
      await ensureObject(ports, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: authenticationMap, namespace },
        data: { 'client-ca-file': authority },
      })
    },
    follow: (add) => {
      for (const { name } of store.scan({ resource: 'namespaces', limit: Number.MAX_SAFE_INTEGER })) add(name)
      return store.subscribe((events) => {
        for (const { resource, namespace, name, type } of events) {
          if (resource === 'namespaces' && type === 'create') add(name)
          if (resource === 'serviceaccounts' && name === accountName && type === 'delete') add(namespace)
          if (resource === 'configmaps' && ownMaps.has(name) && type !== 'create') add(namespace)
        }
      })
    },
  })
}
