import { cleaner } from '../apis/cleaner.ts'
import { conditionalTtl } from '../apis/conditional-ttl.ts'
import type { Client } from '../client/client.ts'
import { cleanerController } from '../systems/cleaner/controller.ts'
import { bondController } from '../systems/collector/bonds.ts'
import { Collector } from '../systems/collector/controller.ts'
import { cascadeRoute } from '../systems/collector/route.ts'
import type { Role } from './config.ts'
import type { Core } from './core.ts'

/** Starts one system on the core. The same whether the cluster is our own or somebody else's. */
type StartSystem = (core: Core) => void | Promise<void>

/** How each role is started; `api` and `workloads` belong to the embedded server alone. */
export const systems: Readonly<Partial<Record<Role, StartSystem>>> = {
  cleaner(core) {
    for (const { type } of [cleaner, conditionalTtl]) core.run(cleanerController({ ...core, type }))
  },

  async collector(core) {
    const collector = new Collector({ ...core, ownsReferences: await isEmbedded(core.client) })
    core.run(collector)
    core.run(bondController(core))
    core.routes.add(cascadeRoute(collector))
  },
}

/** On our own server owner references are ours to act on; anywhere else Kubernetes does that. */
async function isEmbedded(client: Client): Promise<boolean> {
  const { body } = await client.request({ method: 'GET', path: '/version' })
  return String((body as { gitVersion?: string }).gitVersion).includes('+sojourn')
}

/** Starts the systems among these roles. */
export async function startSystems(core: Core, roles: readonly Role[]): Promise<void> {
  await core.door.ready(core.signal)
  for (const role of roles) await systems[role]?.(core)
}
