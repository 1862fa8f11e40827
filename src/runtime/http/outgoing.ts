import { Agent as PlainAgent, type AgentOptions as PlainAgentOptions } from 'node:http'
import { Agent, type AgentOptions } from 'node:https'
import { BlockList, connect, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import type { Duplex } from 'node:stream'

/** Which addresses connections may reach. */
export interface OutgoingRules {
  /** Whose URL it is: tenants reach public addresses only, administrators everything but link-local addresses. */
  readonly for: 'tenants' | 'administrators'
  /** Exceptions that the operator allows: addresses, CIDR ranges, or host names with or without a port. Defaults to none. */
  readonly allow?: readonly string[]
  /** More addresses to deny, such as the cluster's own API server. Defaults to none. */
  readonly deny?: readonly string[]
}

/** Link-local addresses, where cloud providers serve instance metadata and credentials. */
const linkLocal = ['169.254.0.0/16', 'fe80::/10']

/** Addresses that are not on the public internet. */
const privateIPv4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4'

/** The same for IPv6, with the prefixes that embed an IPv4 address: NAT64 (RFC 6052, 8215), Teredo and 6to4. */
const privateIPv6 = '::/128 ::1/128 fc00::/7 ff00::/8 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16'

const privateRanges = [...privateIPv4.split(' '), ...privateIPv6.split(' ')]

/**
 * Opens connections to servers that users name. The address is checked at connect time, after name resolution: a check
 * before it could be bypassed by a DNS answer that changes in between.
 */
export class Outgoing {
  readonly #denied: BlockList
  readonly #allowedNames: ReadonlySet<string>

  constructor(rules: OutgoingRules) {
    const ranges = (rules.allow ?? []).filter(isRange)
    this.#allowedNames = new Set(
      (rules.allow ?? []).filter((entry) => !isRange(entry)).map((name) => name.toLowerCase()),
    )
    this.#denied = blockList(rules.for === 'tenants' ? [...linkLocal, ...privateRanges] : linkLocal, ranges)
    for (const address of rules.deny ?? []) addRange(this.#denied, address)
  }

  /** A TCP connection; errors with ERR_IP_BLOCKED before any packet is sent to a denied address. */
  connect(options: Pick<TcpNetConnectOpts, 'host' | 'port' | 'lookup' | 'timeout' | 'keepAlive'>): Socket {
    const { host = '', port } = options
    const isAllowed =
      this.#allowedNames.has(host.toLowerCase()) || this.#allowedNames.has(`${host.toLowerCase()}:${port}`)
    return connect({ ...options, autoSelectFamily: true, ...(isAllowed ? {} : { blockList: this.#denied }) })
  }

  /** Agents for `node:http` and `node:https`. */
  agent(options: PlainAgentOptions): PlainAgent {
    return guarded(new PlainAgent(options), this)
  }

  tlsAgent(options: AgentOptions): Agent {
    const agent = new Agent(options)
    const secure = agent.createConnection.bind(agent)
    // TLS connections ignore a block list, so the TCP connection below is opened here.
    agent.createConnection = (wanted, done) => {
      const { host, port, lookup } = wanted as TcpNetConnectOpts
      const socket = this.connect({ host: host ?? '', port, ...(lookup ? { lookup } : {}) })
      return secure({ ...wanted, socket } as typeof wanted, done)
    }
    return agent
  }
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

function guarded(agent: PlainAgent, outgoing: Outgoing): PlainAgent {
  agent.createConnection = (options): Duplex => {
    const { host, port, lookup } = options as TcpNetConnectOpts
    return outgoing.connect({ host: host ?? '', port, ...(lookup ? { lookup } : {}) })
  }
  return agent
}

/** A block list of these ranges without the allowed ones: the latter are cut out, because a block list has no exceptions. */
function blockList(ranges: readonly string[], allowed: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) for (const part of without(range, allowed)) addRange(list, part)
  return list
}

/** What is left of a CIDR range when others are taken out, as CIDR ranges. */
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
