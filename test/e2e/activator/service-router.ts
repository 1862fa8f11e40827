import { endpointSlices } from '../../../src/kube/core-types.ts'
import net, { type AddressInfo, type Server, type Socket } from 'node:net'
import type { Client } from '../../../src/client/client.ts'
import { sliceService } from '../../../src/systems/activator/cluster/observe.ts'
import type { EndpointSlice } from '../../../src/systems/activator/model/endpoints.ts'

/** Plays kube-proxy for one Service: a port per port of the Service, each connection to one of its endpoints, as its slices stand. */
export interface ServiceRouter extends AsyncDisposable {
  /** Where a port of the Service is reached, by its name. */
  portOf(name: string): number
  /** Who serves a port now: `address:port`. */
  endpointsOf(name: string): readonly string[]
}

/** Nodes learn of a change a little later. */
const lagMs = 200

export async function startServiceRouter(
  client: Client,
  service: { readonly namespace: string; readonly name: string; readonly ports: readonly string[] },
): Promise<ServiceRouter> {
  const { namespace, name, ports } = service
  const control = new AbortController()
  const slices = new Map<string, EndpointSlice>()
  const follow = async () => {
    const { metadata, items } = await client.list<EndpointSlice>(endpointSlices, { namespace })
    for (const slice of items) slices.set(slice.metadata.name, slice)
    const watch = client.watch<EndpointSlice>(endpointSlices, {
      namespace,
      resourceVersion: metadata.resourceVersion,
      signal: control.signal,
    })
    for await (const { type, object } of watch)
      setTimeout(
        () =>
          void (type === 'DELETED' ? slices.delete(object.metadata.name) : slices.set(object.metadata.name, object)),
        lagMs,
      )
  }
  const following = follow().catch((error: unknown) => {
    if (!control.signal.aborted) throw error
  })
  const endpointsOf = (port: string) =>
    [...slices.values()]
      .filter((slice) => sliceService(slice).includes(`${namespace}/${name}`))
      .flatMap(({ endpoints, ports: listed }) => {
        const target = (listed ?? []).find((each) => (each.name ?? '') === port)?.port
        const ready = (endpoints ?? []).filter(
          ({ conditions }) => conditions?.ready !== false && !conditions?.terminating,
        )
        return target === undefined ? [] : ready.map(({ addresses = [] }) => `${addresses[0]}:${target}`)
      })
  const servers = new Map<string, Server>()
  for (const port of ports) {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => pick(socket, endpointsOf(port)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.set(port, server)
  }
  return {
    portOf: (port) => (servers.get(port)!.address() as AddressInfo).port,
    endpointsOf,
    async [Symbol.asyncDispose]() {
      control.abort()
      await following
      for (const server of servers.values()) server.close()
    },
  }
}

function pick(socket: Socket, endpoints: readonly string[]): void {
  const [host = '', port] = (endpoints[Math.floor(Math.random() * endpoints.length)] ?? '').split(':')
  socket.on('error', () => socket.destroy())
  if (!port) return void socket.resetAndDestroy()
  const onward = net.connect({ host, port: Number(port), allowHalfOpen: true })
  onward.on('error', () => socket.resetAndDestroy())
  socket.on('close', () => onward.destroy())
  socket.pipe(onward)
  onward.pipe(socket)
}
