import { sojournNamespace } from '../../../apis/group.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import type { LeasePorts, LeaseTimes } from '../../../runtime/sharing/lease.ts'
import { readSharedSecret, sharedSecret } from '../../../runtime/sharing/shared-secret.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import { LeaseMembership } from '../../../runtime/sharing/lease-membership.ts'
import { HttpPeers, peerIdentity } from './http-peers.ts'
import { servePeers } from './peer-server.ts'
import { peersGroup, peersSecret, type Part, type Peers, type PeerService } from './peers.ts'

export interface FleetOptions {
  /** Unlike every other replica's. */
  readonly name: string
  /** Where this replica listens for the others. */
  readonly host: string
  /** The port for that; 0 picks a free one. */
  readonly port: number
  /** Where the others reach it. */
  readonly address: string
  /** For how long one that was killed is taken for alive. Defaults to 15 s. */
  readonly leaseMs?: number
  /** What this process does. Defaults to all. */
  readonly part?: Part
}

/** The replicas of the proxy in one cluster: they find each other by Leases and trust each other by a shared Secret. */
export interface Fleet {
  readonly peers: Peers
  /** Takes part from now on, answering for this replica. */
  start(service: PeerService): void
  /** Tells the others that callers must not be sent to this replica any more. */
  retire(): Promise<void>
  /** Leaves: the others hear of it. */
  close(): Promise<void>
}

/** What replicas know each other by. */
const tokenPlace = {
  namespace: sojournNamespace,
  name: peersSecret,
  field: 'token',
  labels: ownLabel,
}

/** Prepares to join the other replicas; they learn of it at `start`. */
export async function openFleet(
  ports: LeasePorts,
  { name, host, port, address, leaseMs = 15_000, part = 'all' }: FleetOptions,
): Promise<Fleet> {
  const token = part === 'proxy' ? await awaitSecret(ports) : await sharedSecret(ports.client, tokenPlace)
  let service: PeerService = {
    drain: () => Promise.reject(new Error('not started')),
    release: () => {},
    listens: () => false,
    reported: ({ uses }) => ({ unknown: Object.keys(uses), refused: [] }),
  }
  const desk = await servePeers(
    {
      drain: (route) => service.drain(route),
      release: (route) => service.release(route),
      listens: (route) => service.listens(route),
      reported: (report) => service.reported(report),
      retiring: (identity) => peers.retiring(identity),
      announced: (identity) => peers.announced(identity),
      departed: (identity) => peers.departed(identity),
    },
    { token, host, port },
  )
  const identity = peerIdentity({ name, host: address, port: desk.port, part })
  const membership = new LeaseMembership(
    { namespace: sojournNamespace, group: peersGroup, identity, mayLead: part !== 'proxy', ...timesOf(leaseMs) },
    ports,
  )
  const peers = new HttpPeers({ identity, token, membership, clock: ports.clock })
  const control = new AbortController()
  let taking = Promise.resolve()
  return {
    peers,
    start(given) {
      service = given
      taking = membership.start(control.signal)
    },
    retire: () => peers.retire(),
    async close() {
      await peers.leave()
      peers.close()
      control.abort()
      await taking
      await desk[Symbol.asyncDispose]()
    },
  }
}

/** A proxy may not create the Secret: the first process that scales does. */
async function awaitSecret({ client, clock, log }: LeasePorts): Promise<string> {
  for (let isSaid = false; ; isSaid = true) {
    const token = await readSharedSecret(client, tokenPlace)
    if (token !== undefined) return token
    if (!isSaid)
      log.info('waits for the activator, which creates the Secret of the replicas', { secret: tokenPlace.name })
    await sleep(clock, 1000)
  }
}

/** As long as those of Kubernetes' own controllers; tried twice before the holder stops, because each try is a request. */
function timesOf(durationMs: number): Required<LeaseTimes> {
  return { durationMs, renewDeadlineMs: (durationMs * 2) / 3, retryMs: durationMs / 3 }
}
