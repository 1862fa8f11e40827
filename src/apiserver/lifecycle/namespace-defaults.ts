import type { KubeObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring } from '../../kube/status-error.ts'
import { asSystem, builtin, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const accountName = 'default'
const authorityMap = 'kube-root-ca.crt'

/**
 * Creates the ServiceAccount `default` and the ConfigMap with the CA in every namespace, and restores them when they
 * are deleted.
 */
export class NamespaceDefaults implements LifecycleController {
  readonly #ports: LifecyclePorts
  readonly close: () => Promise<void>

  constructor(ports: LifecyclePorts) {
    this.#ports = ports
    const { close } = runController(ports, 'namespace-defaults', {
      reconcile: (name) => this.#reconcile(name),
      follow: (add) => {
        for (const { name } of ports.store.scan({ resource: 'namespaces', limit: Number.MAX_SAFE_INTEGER })) add(name)
        return ports.store.subscribe((events) => {
          for (const { resource, namespace, name, type } of events) {
            if (resource === 'namespaces' && type === 'create') add(name)
            if (resource === 'serviceaccounts' && name === accountName && type === 'delete') add(namespace)
            if (resource === 'configmaps' && name === authorityMap && type !== 'create') add(namespace)
          }
        })
      },
    })
    this.close = close
  }

  async #reconcile(namespace: string): Promise<void> {
    const { store } = this.#ports
    const record = store.get({ resource: 'namespaces', namespace: '', name: namespace })
    if (!record || record.document.object.metadata.deletionTimestamp) return
    await Promise.all([
      store.get({ resource: 'serviceaccounts', namespace, name: accountName })
        ? undefined
        : this.#create('serviceaccounts', {
            apiVersion: 'v1',
            kind: 'ServiceAccount',
            metadata: { name: accountName, namespace },
          }),
      this.#publishAuthority(namespace),
    ])
  }

  async #publishAuthority(namespace: string): Promise<void> {
    const { store, objects, kinds, authority } = this.#ports
    const data = { 'ca.crt': authority }
    const known = store.get({ resource: 'configmaps', namespace, name: authorityMap })?.document.object
    if (!known) {
      const annotations = {
        'kubernetes.io/description':
          'The certificate authority to verify this API server with; not for any other server.',
      }
      return this.#create('configmaps', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: authorityMap, namespace, annotations },
        data,
      })
    }
    if (deepEqual(known['data'], data)) return
    await objects
      .update({
        type: builtin(kinds, '', 'configmaps'),
        namespace,
        name: authorityMap,
        ...asSystem,
        body: { ...known, data },
      })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  async #create(plural: string, body: KubeObject): Promise<void> {
    const { objects, kinds } = this.#ports
    await objects
      .create({ type: builtin(kinds, '', plural), namespace: body.metadata.namespace ?? '', ...asSystem, body })
      // Forbidden: the namespace is terminating. NotFound: it has been deleted.
      .catch(ignoring('AlreadyExists', 'Forbidden', 'NotFound'))
  }
}
