import type { KubeObject } from '../../kube/object.ts'
import type { Store, StoreEvent } from '../store/store.ts'
import type { PolicyRule } from './rbac-rules.ts'
import type { Binding, RoleSource, Subject } from './rbac.ts'

const group = 'rbac.authorization.k8s.io'

/** All roles and bindings in memory. Follows the store's events, so it is as current as any answered write. */
export class RoleIndex implements RoleSource {
  readonly #rules = new Map<string, readonly PolicyRule[]>()
  readonly #clusterRoleBindings = new Map<string, Binding>()
  /** By namespace, then name. */
  readonly #roleBindings = new Map<string, Map<string, Binding>>()
  readonly #unsubscribe: () => void

  constructor(store: Store) {
    this.#unsubscribe = store.subscribe((events) => events.forEach((event) => this.#apply(event)))
    for (const resource of resources) {
      for (const { document, namespace, name } of everything(store, resource)) {
        this.#set({ resource, namespace, name }, document.object)
      }
    }
  }

  close(): void {
    this.#unsubscribe()
  }

  clusterRoleBindings(): Iterable<Binding> {
    return this.#clusterRoleBindings.values()
  }

  roleBindings(namespace: string): Iterable<Binding> {
    return this.#roleBindings.get(namespace)?.values() ?? []
  }

  rules(namespace: string, name: string): readonly PolicyRule[] | undefined {
    return this.#rules.get(`${namespace}/${name}`)
  }

  #apply({ type, resource, namespace, name, document }: StoreEvent): void {
    if (!resources.includes(resource)) return
    this.#set({ resource, namespace, name }, type === 'delete' ? undefined : document.object)
  }

  #set(
    { resource, namespace, name }: { readonly resource: string; readonly namespace: string; readonly name: string },
    object: KubeObject | undefined,
  ): void {
    switch (resource) {
      case `roles.${group}`:
      case `clusterroles.${group}`:
        return put(this.#rules, `${namespace}/${name}`, object && ((object['rules'] ?? []) as readonly PolicyRule[]))
      case `clusterrolebindings.${group}`:
        return put(this.#clusterRoleBindings, name, object && bindingOf(object))
      default: {
        const ofNamespace = this.#roleBindings.get(namespace) ?? new Map<string, Binding>()
        put(ofNamespace, name, object && bindingOf(object))
        put(this.#roleBindings, namespace, ofNamespace.size > 0 ? ofNamespace : undefined)
      }
    }
  }
}

const resources: readonly string[] = ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].map(
  (plural) => `${plural}.${group}`,
)

/** The parts of a RoleBinding or ClusterRoleBinding that authorization reads. */
export function bindingOf(object: KubeObject): Binding {
  return {
    name: object.metadata.name ?? '',
    namespace: object.metadata.namespace ?? '',
    roleRef: object['roleRef'] as Binding['roleRef'],
    subjects: (object['subjects'] ?? []) as readonly Subject[],
  }
}

function* everything(store: Store, resource: string) {
  const limit = 500
  let after: { namespace: string; name: string } | undefined
  for (;;) {
    const page = store.scan({ resource, limit, ...(after ? { after } : {}) })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < limit) return
    after = { namespace: last.namespace, name: last.name }
  }
}

function put<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
