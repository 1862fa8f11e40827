import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { asSystem, builtin, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

/** Keeps one APIService for each served group and version; all are local, because this server aggregates no other. */
export function apiServiceController(ports: LifecyclePorts): LifecycleController {
  const { store, objects, kinds, clock } = ports
  return runController(ports, 'api-services', {
    follow: (add) => {
      add('all')
      return kinds.subscribe(() => add('all'))
    },
    reconcile: async () => {
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
    },
  })
}

function apiService(name: string, of: { group: string; version: string; isCustom: boolean }, at: string) {
  const { group, version, isCustom } = of
  const message = 'Local APIServices are always available'
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { 'kube-aggregator.kubernetes.io/automanaged': isCustom ? 'true' : 'onstart' } },
    spec: { group, version, groupPriorityMinimum: isCustom ? 1000 : 17_000, versionPriority: isCustom ? 100 : 15 },
    status: { conditions: [{ type: 'Available', status: 'True', reason: 'Local', message, lastTransitionTime: at }] },
  }
}
