import { randomBytes } from 'node:crypto'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel } from '../../departures/own-machinery.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { LeasePorts } from '../../runtime/lease.ts'
import { Shards } from '../../runtime/shards.ts'
import { HttpPeers, peerIdentity } from './http-peers.ts'
import { servePeers } from './peer-desk.ts'
import type { Peers, PeerService } from './peers.ts'
import { secrets } from './resource-types.ts'

export interface FleetOptions {
  /** Unlike every other replica's. */
  readonly name: string
  /** Where this replica listens for the others. */
  readonly host: string
  /** The port for that; 0 picks a free one. */
  readonly port: number
  /** Where the others reach it. */
  readonly address: string
}

/** The replicas of the proxy in one cluster: they find each other by Leases and trust each other by a shared Secret. */
export interface Fleet {
  readonly peers: Peers
  /** Takes part from now on, answering for this replica. */
  start(service: PeerService): void
  /** Leaves: the others hear of it. */
  close(): Promise<void>
}

const group = 'activator'
const place = { namespace: sojournNamespace, name: 'sojourn-activator-peers' }

/** Prepares to take part; nobody hears of it before `start`. */
export async function openFleet(ports: LeasePorts, { name, host, port, address }: FleetOptions): Promise<Fleet> {
  const token = await peerToken(ports.client)
  let service: PeerService = { drain: () => Promise.reject(new Error('not started')), release: () => {} }
  const desk = await servePeers(
    {
      drain: (route) => service.drain(route),
      release: (route) => service.release(route),
      announced: (identity) => peers.announced(identity),
      departed: (identity) => peers.departed(identity),
    },
    { token, host, port },
  )
  const identity = peerIdentity({ name, host: address, port: desk.port })
  const membership = new Shards({ namespace: sojournNamespace, group, identity, slots: 1 }, ports)
  const peers = new HttpPeers({ identity, token, membership, clock: ports.clock })
  const control = new AbortController()
  let taking = Promise.resolve()
  return {
    peers,
    start(given) {
      service = given
      taking = membership.start(control.signal)
    },
    async close() {
      await peers.leave()
      peers.close()
      control.abort()
      await taking
      await desk[Symbol.asyncDispose]()
    },
  }
}

/** What replicas know each other by; made when there is none. */
async function peerToken(client: Client): Promise<string> {
  const read = async () => {
    const secret = await client.get(secrets, place).catch(ignoring('NotFound'))
    return (secret?.data as { token?: string } | undefined)?.token
  }
  const existing = await read()
  if (existing) return existing
  const token = randomBytes(32).toString('base64')
  await client
    .create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...place, labels: ownLabel },
      type: 'Opaque',
      data: { token },
    })
    .catch(ignoring('AlreadyExists'))
  const stored = await read()
  if (!stored) throw new Error(`Secret ${place.namespace}/${place.name} has no token`)
  return stored
}
