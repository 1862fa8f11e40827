import { departure } from '../../apis/departure.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import type { Io } from './command.ts'
import type { Connection } from './connect.ts'
import { ownVersion } from '../../app/config/version.ts'

/** Throws when the server lacks Sojourn's kinds; warns when its minor version differs from this program's. */
export async function checkVersions({ client, config }: Connection, { err }: Pick<Io, 'err'>): Promise<void> {
  if (!(await client.discovery.typeOf(departure)))
    throw new ConfigError(
      `${config.server} does not serve Sojourn's kinds: run "sojourn install --crds-only | kubectl apply --server-side -f -", with this version of sojourn`,
    )
  const { readServerVersion } = await import('../../app/embedded/endpoints.ts')
  const server = await readServerVersion(client)
  if (server !== undefined && minorOf(server) !== minorOf(ownVersion()))
    err(
      `sojourn: the server is version ${server}, this is ${ownVersion()}: use the same version on both sides, or some information will be missing\n`,
    )
}

/** `0.1` of `0.1.7`. */
function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}
