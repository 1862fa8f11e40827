import { once } from 'node:events'
import { createServer } from 'node:net'
import { ConfigError } from '../../client/cluster-config.ts'

/** A port, and the flag that sets it. */
export interface WantedPort {
  readonly port: number
  readonly host: string
  readonly flag: string
}

/** What a user is told whose port another process has. */
export function portInUse({ port, host, flag }: WantedPort): ConfigError {
  return new ConfigError(`port ${port} of ${host} is in use: set --${flag} to another one, or to 0 for a free one`)
}

/** The port, if no process listens at it. Listeners that share a port would share it with those of another process, too. */
export async function freePort(wanted: WantedPort): Promise<number> {
  const { port, host } = wanted
  const server = createServer()
  await once(server.listen(port, host), 'listening').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE' ? portInUse(wanted) : error
  })
  server.close()
  await once(server, 'close')
  return port
}
