import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring } from '../../kube/status-error.ts'
import { viewerRole, viewerRules } from '../auth/bootstrap-roles.ts'
import { KeyedLoop } from '../objects/upkeep/keyed-loop.ts'
import { asSystem, builtin, type LifecycleController, type LifecyclePorts } from './ports.ts'

const group = 'rbac.authorization.k8s.io'

/** Keeps the viewer's ClusterRole in step with the API groups of CRDs. */
export class ViewerRole implements LifecycleController {
  readonly #ports: LifecyclePorts
  readonly #loop: KeyedLoop
  readonly #unsubscribe: () => void

  constructor(ports: LifecyclePorts) {
    this.#ports = ports
    this.#loop = new KeyedLoop({
      clock: ports.clock,
      work: () => this.#reconcile(),
      onError: (error, key) => ports.onError(error, 'viewer-role', key),
    })
    this.#unsubscribe = ports.kinds.subscribe(() => this.#loop.add(viewerRole))
    this.#loop.add(viewerRole)
  }

  close(): Promise<void> {
    this.#unsubscribe()
    return this.#loop.close()
  }

  async #reconcile(): Promise<void> {
    const { store, objects, kinds } = this.#ports
    const type = builtin(kinds, group, 'clusterroles')
    const role = store.get({ resource: type.resource, namespace: '', name: viewerRole })?.document.object
    // A deleted role stays deleted until the next start, so that an administrator can remove it.
    if (!role || role.metadata.deletionTimestamp) return
    const rules = viewerRules(this.#customGroups())
    if (deepEqual(role['rules'], rules)) return
    await objects
      .update({ type, name: viewerRole, ...asSystem, body: { ...role, rules } })
      .catch(ignoring('Conflict', 'NotFound'))
  }

  /** Groups with custom kinds only: a CRD in a built-in group must not widen the viewer's access to that group. */
  #customGroups(): readonly string[] {
    const all = this.#ports.kinds.all()
    const builtins = new Set(all.filter(({ custom }) => !custom).map((kind) => kind.group))
    const groups = all.filter(({ custom, group: name }) => custom && !builtins.has(name)).map((kind) => kind.group)
    return [...new Set(groups)].toSorted()
  }
}
