import { randomUUID } from 'node:crypto'
import type { Transport } from '../kube/transport.ts'
import { administrator, createApiServer, type ApiServer, type ApiServerOptions } from './server.ts'
import type { Clock } from './store/clock.ts'
import { MemoryStore } from './store/memory-store.ts'

export interface TestServerOptions extends Partial<Omit<ApiServerOptions, 'clock'>> {
  readonly clock: Clock
}

/** An API server for tests. */
export interface TestServer extends ApiServer {
  /** Reaches it as the administrator. */
  readonly transport: Transport
}

/** Starts a whole API server on an in-memory store; closing it closes the store too. */
export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const store = options.store ?? new MemoryStore({ clock: options.clock })
  const server = await createApiServer({ random: () => 0.5, uid: () => randomUUID(), ...options, store })
  const close = async () => {
    await server.close()
    await store.close()
  }
  return { ...server, transport: server.transportAs(administrator), close, [Symbol.asyncDispose]: close }
}
