import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { seededRandom } from '../../runtime/time/random.ts'
import { HttpPeers, peerIdentity, type Membership } from './replicas/http-peers.ts'
import { servePeers, type PeerServer } from './replicas/peer-server.ts'
import type { Part } from './replicas/peers.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Transport } from '../../kube/transport.ts'
import { eventually, rawClient, roundTrip } from '../../../test/activator/proxy.ts'
import {
  fastClock,
  startFakeCluster,
  startReplica,
  type FakeCluster,
  type Replica,
} from '../../../test/activator/cluster.ts'

const token = 'shared'
let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster
let fleet: Fleet

beforeEach(async () => {
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport)
  fleet = new Fleet()
})

afterEach(async () => {
  await fleet.stop()
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

interface Member {
  readonly identity: string
  readonly replica: Replica
  readonly peers: HttpPeers
  readonly desk: PeerServer
}

/** Replicas that know of each other; the first alive leads, as an election would settle it. */
class Fleet {
  readonly members: Member[] = []
  #count = 0

  async add(own = clock, part: Part = 'all'): Promise<Member> {
    const name = `p${this.#count++}`
    let replica: Replica | undefined
    const desk = await servePeers(
      {
        drain: (route) => replica!.activator.drain(route),
        release: (route) => replica!.activator.release(route),
        listens: (route) => replica!.activator.listens(route),
        reported: (report) => replica!.activator.reported(report),
        retiring: (each) => peers.retiring(each),
        announced: (each) => peers.announced(each),
        departed: (each) => peers.departed(each),
      },
      { token, host: '127.0.0.1', port: 0 },
    )
    const identity = peerIdentity({ name, host: '127.0.0.1', port: desk.port, part })
    const membership = membershipOf(this, identity)
    const peers = new HttpPeers({ identity, token, membership, clock: own })
    const transport = part === 'proxy' ? readOnly(server.transport) : deniable(server.transport)
    replica = await startReplica(transport, { clock: own, peers, part, dryRun: part === 'proxy' })
    const member = { identity, replica, peers, desk }
    this.members.push(member)
    return member
  }

  /** Ends a replica without a word: nothing is flushed, its connections break. */
  async kill(member: Member): Promise<void> {
    this.members.splice(this.members.indexOf(member), 1)
    member.peers.close()
    await member.desk[Symbol.asyncDispose]()
    await member.replica.activator.plane.close()
    await member.replica.stop()
  }

  async stop(): Promise<void> {
    while (this.members.length > 0) await this.kill(this.members[0]!)
  }
}

/** Fails the test on a write, as the API server does for an account without the right. */
function readOnly(transport: Transport): Transport {
  return (request) => {
    if (request.method !== 'GET') writes.push(`${request.method} ${request.path}`)
    return transport(request)
  }
}
const writes: string[] = []

/** Denies scaling up once the test says so. */
function deniable(transport: Transport): Transport {
  return async (request) =>
    denied && request.path.includes('/deployments/') && request.method === 'PATCH'
      ? { status: 403, headers: {}, body: new StatusError('Forbidden', 'quota').toStatus() }
      : transport(request)
}
let denied = false

function membershipOf({ members }: Fleet, identity: string): Membership {
  return {
    get members() {
      return members.map((member) => member.identity)
    },
    get isLeader() {
      return members[0]?.identity === identity
    },
    look: () => Promise.resolve(),
  }
}

const ask = (port: number, host = 'web.test') =>
  roundTrip(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
const replicasOf = async (name: string) => ((await cluster.deployment(name)).spec as { replicas: number }).replicas
const allKnow = () =>
  eventually(() =>
    fleet.members.every(
      ({ replica, peers }) => peers.joined && replica.activator.ready && replica.activator.rows().length === 1,
    ),
  )

describe('three proxies', () => {
  it('wake a workload once for a thousand requests, and each is answered once (C61)', async () => {
    for (let i = 0; i < 3; i++) await fleet.add()
    await cluster.addApp('web')
    await allKnow()
    const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => ask(fleet.members[i % 3]!.replica.port)))
    for (const answer of answers) expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(1)
    expect(cluster.history.get('web')).toEqual([0, 1])
    expect(cluster.starts).toBe(1)
  })

  it('do not let the one that leads put to sleep what another one serves', async () => {
    for (let i = 0; i < 3; i++) await fleet.add()
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' })
    await allKnow()
    const follower = fleet.members[2]!.replica
    const startedAt = clock.now()
    while (clock.now() < startedAt + 15_000) expect(await ask(follower.port)).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 1])
    const until = async () => {
      while ((await replicasOf('web')) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await until()
    expect(cluster.history.get('web')).toEqual([0, 1, 0])
  })

  it('abort a sleep when one of them cannot be asked, and go on serving (C54)', async () => {
    for (let i = 0; i < 2; i++) await fleet.add()
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' }, 1)
    await allKnow()
    await fleet.members[1]!.desk[Symbol.asyncDispose]()
    const startedAt = clock.now()
    await eventually(() => clock.now() > startedAt + 10_000)
    expect(await replicasOf('web')).toBe(1)
    for (const { replica } of fleet.members) expect(await ask(replica.port)).toContain('200 OK')
  })

  it('hold a request that arrives while a sleep is decided, and answer it (C84)', async () => {
    for (let i = 0; i < 2; i++) await fleet.add()
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1000' }, 1)
    await allKnow()
    const [, follower] = fleet.members
    await eventually(() => follower!.replica.activator.rows().length === 1)
    expect(await ask(follower!.replica.port)).toContain('200 OK')
    const report = await follower!.replica.activator.drain('default/web')
    expect(report.busy + report.waiting).toBe(0)
    using client = rawClient(follower!.replica.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\n\r\n')
    await eventually(() => follower!.replica.activator.rows()[0]!.waiting === 1)
    follower!.replica.activator.release('default/web')
    await client.until((text) => text.includes('200 OK'))
  })

  it('take a lost member’s word for nothing: what it served may have been used until it was lost (C91)', async () => {
    const leader = await fleet.add()
    const seen = new Promise((resolve) => leader.peers.onChange(resolve))
    await fleet.add()
    await seen
    await cluster.addApp('web', { 'proxless/ttl-seconds': '10' })
    await allKnow()
    expect(await ask(fleet.members[1]!.replica.port)).toContain('200 OK')
    const lostAt = clock.now()
    await fleet.kill(fleet.members[1]!)
    while ((await replicasOf('web')) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(clock.now() - lostAt).toBeGreaterThanOrEqual(10_000)
  })

  it('do not mind clocks that are minutes apart (C90)', async () => {
    await fleet.add()
    await fleet.add(fastClock(20, clock.now() - 300_000))
    await cluster.addApp('web', { 'proxless/ttl-seconds': '30' })
    await allKnow()
    const behind = fleet.members[1]!.replica
    const startedAt = clock.now()
    while (clock.now() < startedAt + 60_000) expect(await ask(behind.port)).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 1])
  })

  it('lose no request over random sleeps, wakes and killed replicas (C84)', async () => {
    const random = seededRandom(7)
    for (let i = 0; i < 3; i++) await fleet.add()
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1' })
    await allKnow()
    const failures: string[] = []
    let answered = 0
    const endAt = clock.now() + 100_000
    const client = async () => {
      while (clock.now() < endAt) {
        const pauseUntil = clock.now() + random() * 6000
        await eventually(() => clock.now() >= pauseUntil)
        const member = fleet.members[Math.floor(random() * fleet.members.length)]!
        const answer = await ask(member.replica.port).catch((error: unknown) => String(error))
        // A replica that is killed takes its connections along; that is the kill, not the sleep.
        if (!fleet.members.includes(member)) continue
        if (answer.includes('200 OK')) answered++
        else failures.push(answer)
      }
    }
    const killer = async () => {
      for (let i = 0; i < 3; i++) {
        const at = clock.now() + 25_000
        await eventually(() => clock.now() >= at)
        await fleet.kill(fleet.members[Math.floor(random() * fleet.members.length)]!)
        const { replica } = await fleet.add()
        await eventually(() => replica.activator.ready && replica.activator.rows().length === 1)
      }
    }
    await Promise.all([client(), client(), client(), killer()])
    expect(failures).toEqual([])
    expect(answered).toBeGreaterThan(20)
    const sleeps = cluster.history.get('web')!.filter((replicas) => replicas === 0).length
    expect(sleeps).toBeGreaterThan(3)
  })
})

describe('proxies for which other processes scale', () => {
  const start = async (...parts: readonly Part[]) => {
    writes.length = 0
    denied = false
    for (const part of parts) await fleet.add(clock, part)
    return fleet.members.filter(({ identity }) => identity.endsWith('#proxy'))
  }

  it('have it wake a workload once for all their requests, and write nothing themselves', async () => {
    const proxies = await start('scaler', 'scaler', 'proxy', 'proxy')
    await cluster.addApp('web')
    await allKnow()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(proxies[i % 2]!.replica.port)))
    for (const answer of answers) expect(answer).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 1])
    const lastDay = async () => (await cluster.deployment('web')).metadata.annotations?.['sojourn.dev/last-day'] ?? ''
    while (!/^\d+:[1-9]/.test(await lastDay())) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(writes).toEqual([])
  })

  it('keep a workload awake while they serve it, and let it sleep after that', async () => {
    const proxies = await start('scaler', 'proxy', 'proxy')
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' })
    await allKnow()
    const startedAt = clock.now()
    while (clock.now() < startedAt + 15_000) expect(await ask(proxies[1]!.replica.port)).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 1])
    while ((await replicasOf('web')) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(cluster.history.get('web')).toEqual([0, 1, 0])
    expect(await ask(proxies[0]!.replica.port)).toContain('200 OK')
    expect(writes).toEqual([])
  })

  it('keep a workload awake for as long as one request is under way', async () => {
    const [proxy] = await start('scaler', 'proxy')
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 1)
    await allKnow()
    using client = rawClient(proxy!.replica.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n')
    await client.until((text) => text.includes('101'))
    const startedAt = clock.now()
    await eventually(() => clock.now() > startedAt + 20_000)
    expect(await replicasOf('web')).toBe(1)
  })

  it('do not keep a workload awake after they were killed', async () => {
    const [proxy] = await start('scaler', 'proxy', 'proxy')
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 1)
    await allKnow()
    using client = rawClient(proxy!.replica.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n')
    await client.until((text) => text.includes('101'))
    await eventually(() => fleet.members[0]!.replica.activator.rows()[0]!.inFlight > 0)
    await fleet.kill(proxy!)
    while ((await replicasOf('web')) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  })

  it('refuse requests when the workload cannot be woken, instead of holding them', async () => {
    const [proxy] = await start('scaler', 'proxy')
    await cluster.addApp('web')
    await allKnow()
    denied = true
    expect(await ask(proxy!.replica.port)).toContain('503')
    expect(writes).toEqual([])
  })

  it('are where callers are led to, and never the process that scales', async () => {
    const proxies = await start('scaler', 'proxy', 'proxy')
    await cluster.addApp('web')
    await allKnow()
    const { peers } = fleet.members[0]!
    expect(peers.address).toBeUndefined()
    expect(peers.senderIndex.count).toBe(2)
    expect(peers.scalers).toEqual([])
    expect(proxies[0]!.peers.scalers).toEqual([fleet.members[0]!.identity])
    expect(proxies[0]!.peers.leading).toBe(false)
  })
})

describe('the peers’ desk', () => {
  it('answers no caller without the token', async () => {
    await using desk = await servePeers(
      {
        drain: () => Promise.reject(new Error('must not be asked')),
        release: () => {},
        listens: () => true,
        reported: () => ({ unknown: [], refused: [] }),
        retiring: () => {},
        announced: () => {},
        departed: () => {},
      },
      { token, host: '127.0.0.1', port: 0 },
    )
    for (const authorization of ['', 'Bearer wrong!', 'Bearer sharedx']) {
      const response = await fetch(`http://127.0.0.1:${desk.port}/drain`, {
        method: 'POST',
        body: 'x',
        headers: { authorization },
      })
      expect(response.status).toBe(401)
    }
  })
})
