import { isIPv4, isIPv6 } from 'node:net'
import { CelOpaque } from '../values.ts'

/** An IPv4 or IPv6 address as a number of 32 or 128 bits. */
export class IpAddress extends CelOpaque {
  readonly typeName = 'net.IP'
  readonly family: 4 | 6
  readonly bits: bigint

  constructor(family: 4 | 6, bits: bigint) {
    super()
    this.family = family
    this.bits = bits
  }

  override equals(other: CelOpaque): boolean {
    return other instanceof IpAddress && other.family === this.family && other.bits === this.bits
  }

  override toString(): string {
    return this.family === 4 ? textOfV4(this.bits) : textOfV6(this.bits)
  }

  /** Whether the first bits are those of this network. */
  isIn(network: IpAddress, length: number): boolean {
    const rest = BigInt((this.family === 4 ? 32 : 128) - length)
    return this.family === network.family && this.bits >> rest === network.bits >> rest
  }
}

/** An address with the length of its network prefix. */
export class Cidr extends CelOpaque {
  readonly typeName = 'net.CIDR'
  readonly address: IpAddress
  readonly length: number

  constructor(address: IpAddress, length: number) {
    super()
    this.address = address
    this.length = length
  }

  override equals(other: CelOpaque): boolean {
    return other instanceof Cidr && other.length === this.length && other.address.equals(this.address)
  }

  override toString(): string {
    return `${this.address.toString()}/${this.length}`
  }
}

/** Reads an address without zone; IPv4 in IPv6 clothes (`::ffff:1.2.3.4`) is refused, as by Kubernetes. */
export function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) return new IpAddress(4, bitsOfV4(text))
  const bits = isIPv6(text) && !text.includes('%') ? bitsOfV6(text) : undefined
  return bits === undefined || bits >> 32n === 0xffffn ? undefined : new IpAddress(6, bits)
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.lastIndexOf('/')
  const address = slash < 0 ? undefined : parseIp(text.slice(0, slash))
  const length = /^(?:0|[1-9]\d{0,2})$/.test(text.slice(slash + 1)) ? Number(text.slice(slash + 1)) : -1
  if (!address || length < 0 || length > (address.family === 4 ? 32 : 128)) return undefined
  return new Cidr(address, length)
}

function bitsOfV4(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

/** Of an address that is known to be one. */
function bitsOfV6(text: string): bigint {
  const [head = [], tail = []] = text.split('::').map(groupsOf)
  const zeros = Array.from<bigint>({ length: 8 - head.length - tail.length }).fill(0n)
  return [...head, ...zeros, ...tail].reduce((bits, group) => (bits << 16n) | group, 0n)
}

/** The groups of 16 bits between colons; the last may be an IPv4 address. */
function groupsOf(text: string): readonly bigint[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return BigInt(`0x${part}`)
    const bits = bitsOfV4(part)
    return [bits >> 16n, bits & 0xffffn]
  })
}

function textOfV4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
}

function textOfV6(bits: bigint): string {
  const groups = bits.toString(16).padStart(32, '0').match(/.{4}/g) ?? []
  return canonical(groups.join(':'))
}

/** The form in which URLs hold it: hexadecimal, lower case, no leading zeros, the first longest run of zero groups shortened. */
function canonical(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}
