import { randomUUID } from 'node:crypto'
import { podAdmission } from '../../src/admission/registered/kubernetes-admission.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { administrator, createApiServer, type ApiServer, type ApiServerOptions } from '../../src/apiserver/server.ts'
import type { Clock } from '../../src/apiserver/store/clock.ts'
import { openMemoryStore } from '../../src/apiserver/store/sqlite-store.ts'

/** Options of a test server; everything but the clock has a default. */
export interface TestServerOptions extends Partial<Omit<ApiServerOptions, 'clock'>> {
  readonly clock: Clock
}

/** An API server for tests. */
export interface TestServer extends ApiServer {
  /** A Transport as the administrator. */
  readonly transport: Transport
}

/** Starts a whole API server on an in-memory store; closing it closes the store too. */
export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const store = options.store ?? openMemoryStore(options.clock)
  const admission = [...podAdmission, ...(options.admission ?? [])]
  const server = await createApiServer({
    random: seededRandom(),
    uid: () => randomUUID(),
    ...options,
    admission,
    store,
  })
  const close = async () => {
    await server.close()
    await store.close()
  }
  return { ...server, transport: server.transportAs(administrator), close, [Symbol.asyncDispose]: close }
}

/** A deterministic random source (mulberry32), so that generated names differ and tests repeat. */
function seededRandom(): () => number {
  let state = 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
