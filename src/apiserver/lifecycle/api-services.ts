import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { KeyedLoop } from '../objects/upkeep/keyed-loop.ts'
import { asSystem, builtin, type LifecycleController, type LifecyclePorts } from './ports.ts'

/** Keeps one APIService for each served group and version; all are local, because this server aggregates no other. */
export class ApiServices implements LifecycleController {
  readonly #ports: LifecyclePorts
  readonly #loop: KeyedLoop
  readonly #unsubscribe: () => void

  constructor(ports: LifecyclePorts) {
    this.#ports = ports
    this.#loop = new KeyedLoop({
      clock: ports.clock,
      work: () => this.#reconcile(),
      onError: (error, key) => ports.onError(error, 'api-services', key),
    })
    this.#unsubscribe = ports.kinds.subscribe(() => this.#loop.add('all'))
    this.#loop.add('all')
  }

  close(): Promise<void> {
    this.#unsubscribe()
    return this.#loop.close()
  }

  async #reconcile(): Promise<void> {
    const { store, objects, kinds, clock } = this.#ports
    const type = builtin(kinds, 'apiregistration.k8s.io', 'apiservices')
    const served = new Map(kinds.all().map((kind) => [`${kind.version}.${kind.group}`, kind]))
    const { resource } = type
    for (const { name } of store.scan({ resource, limit: Number.MAX_SAFE_INTEGER }))
      if (!served.has(name)) await objects.delete({ type, name, ...asSystem, query: {} }).catch(ignoring('NotFound'))
    for (const [name, { group, version, custom }] of served) {
      if (store.get({ resource, namespace: '', name })) continue
      const body = apiService(name, { group, version, isCustom: custom !== undefined }, formatTime(clock.now()))
      await objects.create({ type, ...asSystem, body }).catch(ignoring('AlreadyExists'))
    }
  }
}

function apiService(name: string, of: { group: string; version: string; isCustom: boolean }, at: string) {
  const { group, version, isCustom } = of
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { 'kube-aggregator.kubernetes.io/automanaged': isCustom ? 'true' : 'onstart' } },
    spec: { group, version, groupPriorityMinimum: isCustom ? 1000 : 17_000, versionPriority: isCustom ? 100 : 15 },
    status: {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          reason: 'Local',
          message: 'Local APIServices are always available',
          lastTransitionTime: at,
        },
      ],
    },
  }
}
