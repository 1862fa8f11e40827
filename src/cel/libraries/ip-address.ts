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

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const v4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

/** Reads an address without zone; IPv4 in IPv6 clothes (`::ffff:1.2.3.4`) is refused, as by Kubernetes. */
export function parseIp(text: string): IpAddress | undefined {
  if (v4.test(text)) return new IpAddress(4, bitsOfV4(text))
  const bits = text.length <= 45 ? bitsOfV6(text) : undefined
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

function bitsOfV6(text: string): bigint | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half, index) => groupsOf(half, index === halves.length - 1))
  if (!head || (halves.length === 2 && !tail)) return undefined
  const missing = 8 - head.length - (tail?.length ?? 0)
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const groups = [...head, ...Array.from<bigint>({ length: missing }).fill(0n), ...(tail ?? [])]
  return groups.reduce((bits, group) => (bits << 16n) | group, 0n)
}

/** The groups of 16 bits between colons; the last may be an IPv4 address. */
function groupsOf(text: string, mayEndInV4: boolean): bigint[] | undefined {
  if (!text) return []
  const parts = text.split(':')
  const groups: bigint[] = []
  for (const [index, part] of parts.entries()) {
    if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`))
    else if (mayEndInV4 && index === parts.length - 1 && v4.test(part)) {
      const bits = bitsOfV4(part)
      groups.push(bits >> 16n, bits & 0xffffn)
    } else return undefined
  }
  return groups
}

function textOfV4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
}

/** The canonical form: lower case, no leading zeros, the first longest run of zero groups shortened. */
function textOfV6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(112 - index * 16)) & 0xffffn).toString(16))
  const { start, length } = longestZeros(groups)
  if (length < 2) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`
}

function longestZeros(groups: readonly string[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 }
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group !== '0') start = index + 1
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start }
  }
  return best
}
