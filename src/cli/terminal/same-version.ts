import { departure } from '../../apis/departure.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import type { Io } from './command.ts'
import type { Connection } from './connect.ts'
import { ownVersion } from '../../app/config/version.ts'

/** Makes sure that the server speaks of the same things as we do: throws when it knows none of our kinds, warns when it is of another version. */
export async function checkVersions({ client, config }: Connection, { err }: Pick<Io, 'err'>): Promise<void> {
  if (!(await client.discovery.typeOf(departure)))
    throw new ConfigError(
      `${config.server} does not know our kinds: run "sojourn install | kubectl apply --server-side -f -", with this version of sojourn`,
    )
  const { readServerVersion } = await import('../../app/embedded/endpoints.ts')
  const server = await readServerVersion(client)
  if (server !== undefined && minorOf(server) !== minorOf(ownVersion()))
    err(
      `sojourn: the server is version ${server}, this is ${ownVersion()}: use the same on both sides, or some things will be missing\n`,
    )
}

/** `0.1` of `0.1.7`: what must be the same. */
function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}
