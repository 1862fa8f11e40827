import type { ServerParts } from './server-parts.ts'
import { Upkeep } from './objects/upkeep/upkeep.ts'
import type { ApiServerOptions } from './options.ts'
import { NamespaceDeleter } from './lifecycle/namespace-deleter.ts'
import { NamespaceDefaults } from './lifecycle/namespace-defaults.ts'
import type { LifecycleController, LifecyclePorts } from './lifecycle/ports.ts'
import { RoleAggregation } from './lifecycle/role-aggregation.ts'
import { ViewerRole } from './lifecycle/viewer-role.ts'

/** Starts the server's own controllers and the store's maintenance; the result stops them. */
export function startControllers(options: ApiServerOptions, parts: ServerParts): () => Promise<void> {
  const { store, clock, controllers = true, beforeEmptying, onError } = options
  const { objects, kinds, credentials } = parts
  const ports: LifecyclePorts = {
    store,
    objects,
    kinds,
    clock,
    authority: credentials.authority,
    beforeEmptying: async (terminating) => beforeEmptying?.(terminating),
    onError: (error, controller, key) => onError?.(error, { controller, key }),
  }
  const running: readonly LifecycleController[] = controllers
    ? [new NamespaceDeleter(ports), new NamespaceDefaults(ports), new RoleAggregation(ports), new ViewerRole(ports)]
    : []
  const upkeep = new Upkeep({
    store,
    objects,
    kinds,
    clock,
    ...(beforeEmptying ? { beforeEmptying } : {}),
    onError: (error) => ports.onError(error, 'upkeep', ''),
  })
  return async () => {
    await Promise.all([upkeep.close(), ...running.map((controller) => controller.close())])
  }
}
