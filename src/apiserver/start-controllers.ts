import type { ServerParts } from './server-parts.ts'
import { Upkeep } from './objects/upkeep/upkeep.ts'
import type { ApiServerOptions } from './options.ts'
import { apiServiceController } from './lifecycle/api-services.ts'
import { kubernetesService } from './lifecycle/kubernetes-service.ts'
import { NamespaceDeleter } from './lifecycle/namespace-deleter.ts'
import { namespaceDefaults } from './lifecycle/namespace-defaults.ts'
import type { LifecycleController, LifecyclePorts } from './lifecycle/ports.ts'
import { roleAggregationController } from './lifecycle/role-aggregation.ts'
import { tokenSecretController } from './lifecycle/token-secrets.ts'
import { viewerRoleController } from './lifecycle/viewer-role.ts'

/** The server's own controllers and the store's maintenance, while they run. */
export interface RunningControllers {
  /** Tells the controllers at which address the server listens. */
  publish(host: string, port: number): Promise<void>
  close(): Promise<void>
}

/** Starts the server's own controllers and the store's maintenance. */
export function startControllers(options: ApiServerOptions, parts: ServerParts): RunningControllers {
  const { store, clock, controllers = true, beforeEmptying, onError } = options
  const { objects, kinds, credentials } = parts
  const ports: LifecyclePorts = {
    store,
    objects,
    kinds,
    clock,
    authority: credentials.authority,
    tokens: parts.serviceAccounts,
    beforeEmptying: async (terminating) => beforeEmptying?.(terminating),
    onError: (error, controller, key) => onError?.(error, { controller, key }),
  }
  const service = kubernetesService(ports)
  const running: readonly LifecycleController[] = controllers
    ? [
        new NamespaceDeleter(ports),
        ...[
          namespaceDefaults,
          tokenSecretController,
          roleAggregationController,
          viewerRoleController,
          apiServiceController,
        ].map((start) => start(ports)),
      ]
    : []
  const upkeep = new Upkeep({
    store,
    objects,
    kinds,
    clock,
    ...(beforeEmptying ? { beforeEmptying } : {}),
    onError: (error) => ports.onError(error, 'upkeep', ''),
  })
  return {
    publish: async (host, port) => (controllers ? service.publish(host, port) : undefined),
    close: async () => {
      await Promise.all([upkeep, service, ...running].map((each) => each.close()))
    },
  }
}
