import type { Client } from '../../../client/client.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import type { SwabbieImport } from './import-swabbie.ts'

/** Applies the objects of an imported swabbie.yml. Applies none of them if the import has problems. */
export async function applySwabbie(client: Client, { objects, problems }: SwabbieImport): Promise<void> {
  if (problems.length > 0)
    throw new ConfigError(`the swabbie.yml is invalid:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
  for (const object of objects) {
    const type = await client.discovery.typeOf(object)
    if (!type) throw new ConfigError(`the cluster has no kind ${object.kind}: install Sojourn's CRDs first`)
    await client.apply(type, object, { fieldManager: 'sojourn-swabbie', force: true })
  }
}
