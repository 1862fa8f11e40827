import { Agent as PlainAgent, type AgentOptions as PlainAgentOptions } from 'node:http'
import { Agent, type AgentOptions } from 'node:https'
import { BlockList, connect, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
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
  readonly #denied: BlockList
  readonly #allowedNames: ReadonlySet<string>
  /** By port: everything in `#denied` and servers of Sojourn's own. */
  readonly #deniedAt = new Map<number, BlockList>()
  readonly #ranges: readonly string[]

  constructor(rules: OutgoingRules) {
    const allowed = rules.allow ?? []
    this.#allowedNames = new Set(allowed.filter((entry) => !isRange(entry)).map(nameOf))
    this.#ranges = deniedTo[rules.for].flatMap((range) => without(range, allowed.filter(isRange)))
    this.#denied = blockList(this.#ranges)
  }

  /** Denies one address at one port from now on, whatever is allowed: that of the cluster's own API server. */
  deny(address: string, port: number): void {
    const list = this.#deniedAt.get(port) ?? blockList(this.#ranges)
    addRange(list, address)
    this.#deniedAt.set(port, list)
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

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) addRange(list, range)
  return list
}

/** What is left of a CIDR range without the allowed ones, as CIDR ranges: a block list has no exceptions. */
function without(range: string, allowed: readonly string[]): readonly string[] {
  const inside = allowed.filter(
    (other) => familyOf(other) === familyOf(range) && (covers(range, other) || covers(other, range)),
  )
  if (inside.some((other) => covers(other, range))) return []
  if (inside.length === 0) return [range]
  return halves(range).flatMap((half) => without(half, inside))
}

function isRange(entry: string): boolean {
  return isIP(entry.split('/')[0] ?? '') !== 0
}

function familyOf(range: string): 4 | 6 {
  return range.includes(':') ? 6 : 4
}

function parse(range: string): { readonly bits: bigint; readonly length: number; readonly width: 32 | 128 } {
  const [address = '', length] = range.split('/')
  const width = familyOf(range) === 4 ? 32 : 128
  return { bits: width === 32 ? bitsOf4(address) : bitsOf6(address), length: Number(length ?? width), width }
}

function covers(outer: string, innerRange: string): boolean {
  const [large, small] = [parse(outer), parse(innerRange)]
  const shift = BigInt(large.width - large.length)
  return large.length <= small.length && large.bits >> shift === small.bits >> shift
}

function halves(range: string): readonly string[] {
  const { bits, length, width } = parse(range)
  const second = bits | (1n << BigInt(width - length - 1))
  return [bits, second].map((start) => `${width === 32 ? text4(start) : text6(start)}/${length + 1}`)
}

function bitsOf4(address: string): bigint {
  return address.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

function bitsOf6(address: string): bigint {
  const [head = '', tail = ''] = address.split('::')
  const [left, right] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]]
  const middle = address.includes('::') ? Array<string>(8 - left.length - right.length).fill('0') : []
  return [...left, ...middle, ...right].reduce((bits, part) => (bits << 16n) | BigInt(`0x${part}`), 0n)
}

function text4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
}

function text6(bits: bigint): string {
  return [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((bits >> shift) & 0xffffn).toString(16)).join(':')
}

function addRange(list: BlockList, range: string): void {
  const [address = '', length] = range.split('/')
  const family = familyOf(range) === 4 ? 'ipv4' : 'ipv6'
  if (length === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(length), family)
}
