import type { Client } from '../../../client/client.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import type { SwabbieImport } from './import-swabbie.ts'

/** Puts what a swabbie.yml says into the cluster, so that it is followed. Refuses what has problems as a whole. */
export async function applySwabbie(client: Client, { objects, problems }: SwabbieImport): Promise<void> {
  if (problems.length > 0)
    throw new ConfigError(
      `the swabbie.yml cannot be followed:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    )
  for (const object of objects) {
    const type = await client.discovery.typeOf(object)
    if (!type) throw new ConfigError(`the cluster does not know the kind ${object.kind}: install Sojourn first`)
    await client.apply(type, object, { fieldManager: 'sojourn-swabbie', force: true })
  }
}
