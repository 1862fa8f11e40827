import { Agent as PlainAgent, type AgentOptions as PlainAgentOptions } from 'node:http'
import { Agent, type AgentOptions } from 'node:https'
import {
  BlockList,
  connect,
  isIP,
  type IPVersion,
  type Socket,
  type SocketAddress,
  type TcpNetConnectOpts,
} from 'node:net'
import type { Duplex } from 'node:stream'

/** Which addresses connections may reach. */
export interface OutgoingRules {
  /** Whose address it is: tenants reach public addresses, kubeconfigs private ones too, administrators all but link-local ones. */
  readonly for: 'tenants' | 'kubeconfigs' | 'administrators'
  /** Exceptions that the operator allows: addresses, CIDR ranges, or host names with or without a port. Defaults to none. */
  readonly allow?: readonly string[]
}

/** Link-local addresses, where cloud providers serve instance metadata and credentials. */
const linkLocal = ['169.254.0.0/16', 'fe80::/10']

/** This machine, and the ways to spell its addresses and private ones in IPv6. */
const own =
  '0.0.0.0/8 127.0.0.0/8 192.0.0.0/24 224.0.0.0/4 240.0.0.0/4 ::/128 ::1/128 ff00::/8 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16'.split(
    ' ',
  )

const privateRanges = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', '198.18.0.0/15', 'fc00::/7']

const deniedTo = {
  tenants: [...linkLocal, ...own, ...privateRanges],
  kubeconfigs: [...linkLocal, ...own],
  administrators: linkLocal,
} as const

/** What `sojourn up` allows unless told otherwise: its users have this machine already. */
export const machineAndPrivate: readonly string[] = ['127.0.0.0/8', '0.0.0.0', '::1', ...privateRanges]

/**
 * Opens connections to servers that users name. The address is checked at connect time, after name resolution: a check
 * before it could be bypassed by a DNS answer that changes in between.
 */
export class Outgoing {
  readonly #ranges: readonly [denied: readonly string[], allowed: readonly string[]]
  readonly #denied: BlockList
  readonly #allowedNames: ReadonlySet<string>
  /** By port: addresses of Sojourn's own servers, and everything denied with them. */
  readonly #ownAt = new Map<number, readonly string[]>()
  readonly #deniedAt = new Map<number, BlockList>()

  constructor(rules: OutgoingRules) {
    const allowed = rules.allow ?? []
    this.#allowedNames = new Set(allowed.filter((entry) => !isRange(entry)).map(nameOf))
    this.#ranges = [deniedTo[rules.for], allowed.filter(isRange)]
    this.#denied = new Denied(...this.#ranges)
  }

  /** Denies one address at one port from now on, whatever is allowed: that of the cluster's own API server. */
  deny(address: string, port: number): void {
    const own = [...(this.#ownAt.get(port) ?? []), address]
    this.#ownAt.set(port, own)
    this.#deniedAt.set(port, new Denied(...this.#ranges, own))
  }

  /** A TCP connection; errors with AddressDenied before any packet is sent to a denied address. */
  connect(options: Pick<TcpNetConnectOpts, 'host' | 'port' | 'lookup'>): Socket {
    const { host = '', port } = options
    const isAllowed = this.#allowedNames.has(nameOf(host)) || this.#allowedNames.has(`${nameOf(host)}:${port}`)
    const denied = this.#deniedAt.get(Number(port)) ?? this.#denied
    const socket = connect({ ...options, autoSelectFamily: true, ...(isAllowed ? {} : { blockList: denied }) })
    return withClearErrors(socket, `${host.includes(':') ? `[${host}]` : host}:${port}`)
  }

  /** Agents for `node:http` and `node:https`. */
  agent(options: PlainAgentOptions): PlainAgent {
    const agent = new PlainAgent(options)
    agent.createConnection = (wanted): Duplex => this.connect(destinationOf(wanted as TcpNetConnectOpts))
    return agent
  }

  tlsAgent(options: AgentOptions): Agent {
    const agent = new Agent(options)
    const secure = agent.createConnection.bind(agent)
    // TLS connections ignore a block list, so the TCP connection below is opened here.
    agent.createConnection = (wanted, done) => {
      const socket = this.connect(destinationOf(wanted as TcpNetConnectOpts))
      return secure({ ...wanted, socket } as typeof wanted, done)
    }
    return agent
  }
}

/** A connection was refused because of its address. */
export class AddressDenied extends Error {
  override readonly name = 'AddressDenied'

  constructor(place: string, options?: ErrorOptions) {
    super(
      `connections to ${place} are not allowed, because it is not a public address: the operator of Sojourn can allow it by --allow-outgoing ${place}`,
      options,
    )
  }
}

/** What is wrong with an entry of the allow list; undefined when it can be used. */
export function allowedOutgoingProblem(entry: string): string | undefined {
  const [address = '', length, ...rest] = entry.split('/')
  const family = isIP(address)
  if (family === 6 && address.includes('.')) return 'write the IPv4 address without ::ffff:'
  if (family !== 0 && length !== undefined)
    return /^\d{1,3}$/.test(length) && rest.length === 0 && Number(length) <= (family === 4 ? 32 : 128)
      ? undefined
      : 'a range is an address and a length, such as 10.1.0.0/16'
  if (family !== 0) return undefined
  return /^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::\d{1,5})?$/i.test(entry)
    ? undefined
    : 'it must be an address, a CIDR range, or a host name with or without a port'
}

/** Whether a connection failed because its address is denied. */
export function isDeniedAddress(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ((current as NodeJS.ErrnoException).code === 'ERR_IP_BLOCKED') return true
    const inside = (current as { readonly errors?: readonly unknown[] }).errors
    if (inside?.some(isDeniedAddress)) return true
  }
  return false
}

/** The same socket, whose error says which setting allows the connection. */
function withClearErrors(socket: Socket, place: string): Socket {
  const destroy = socket.destroy.bind(socket)
  socket.destroy = (error) => destroy(isDeniedAddress(error) ? new AddressDenied(place, { cause: error }) : error)
  return socket
}

function destinationOf({ host, port, lookup }: TcpNetConnectOpts) {
  return { host: host ?? '', port, ...(lookup ? { lookup } : {}) }
}

/** As names are compared: lower-case, an IPv6 address without brackets. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/^\[([^\]]*)\]/, '$1')
}

/** A block list with exceptions. Connections ask `check` for every address that they try. */
class Denied extends BlockList {
  readonly #allowed: BlockList
  /** Denied whatever is allowed. */
  readonly #always: BlockList

  constructor(denied: readonly string[], allowed: readonly string[], always: readonly string[] = []) {
    super()
    addRanges(this, denied)
    this.#allowed = addRanges(new BlockList(), allowed)
    this.#always = addRanges(new BlockList(), always)
  }

  override check(address: string | SocketAddress, family?: IPVersion): boolean {
    const given = [address as string, family] as const
    return this.#always.check(...given) || (super.check(...given) && !this.#allowed.check(...given))
  }
}

function isRange(entry: string): boolean {
  return isIP(entry.split('/')[0] ?? '') !== 0
}

function addRanges(list: BlockList, ranges: readonly string[]): BlockList {
  for (const range of ranges) {
    const [address = '', length] = range.split('/')
    const family = range.includes(':') ? 'ipv6' : 'ipv4'
    if (length === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(length), family)
  }
  return list
}
