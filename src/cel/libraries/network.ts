import { CelError } from '../errors.ts'
import { overload, type Library, type Overload } from '../functions.ts'
import { opaqueType } from '../types.ts'
import type { CelValue } from '../values.ts'
import { Cidr, IpAddress, parseCidr, parseIp } from './ip-address.ts'

function network(text: string): (address: IpAddress) => boolean {
  const cidr = parseCidr(text)
  if (!cidr) throw new Error(`not a network: ${text}`)
  return (address) => address.isIn(cidr.address, cidr.length)
}

function anyOf(...texts: string[]): (address: IpAddress) => boolean {
  const tests = texts.map(network)
  return (address) => tests.some((test) => test(address))
}

const isUnspecified = anyOf('0.0.0.0/32', '::/128')
const isLoopback = anyOf('127.0.0.0/8', '::1/128')
const isMulticast = anyOf('224.0.0.0/4', 'ff00::/8')
const isLinkLocalUnicast = anyOf('169.254.0.0/16', 'fe80::/10')
const isBroadcast = anyOf('255.255.255.255/32')

/** Link-local by the scope of IPv6 multicast, whatever its flags. */
function isLinkLocalMulticast(address: IpAddress): boolean {
  if (address.family === 4) return anyOf('224.0.0.0/24')(address)
  return isMulticast(address) && ((address.bits >> 112n) & 0xfn) === 2n
}

function isGlobalUnicast(address: IpAddress): boolean {
  return ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast, isBroadcast].some((test) => test(address))
}

function toIp(text: string): IpAddress | CelError {
  return parseIp(text) ?? new CelError(`invalid IP address: ${JSON.stringify(text.slice(0, 64))}`)
}

function toCidr(text: string): Cidr | CelError {
  return parseCidr(text) ?? new CelError(`invalid CIDR: ${JSON.stringify(text.slice(0, 64))}`)
}

function masked({ address, length }: Cidr): Cidr {
  const rest = BigInt((address.family === 4 ? 32 : 128) - length)
  return new Cidr(new IpAddress(address.family, (address.bits >> rest) << rest), length)
}

function containsIp(cidr: Cidr, address: IpAddress | CelError): CelValue {
  return address instanceof CelError ? address : address.isIn(cidr.address, cidr.length)
}

function containsCidr(cidr: Cidr, other: Cidr | CelError): CelValue {
  if (other instanceof CelError) return other
  return other.length >= cidr.length && masked(other).address.isIn(cidr.address, cidr.length)
}

const addresses: readonly Overload[] = [
  overload('ip(string) -> net.IP', (_frame, text: string) => toIp(text)),
  overload('isIP(string) -> bool', (_frame, text: string) => parseIp(text) !== undefined),
  overload('ip.isCanonical(string) -> bool', (_frame, text: string) => {
    const address = toIp(text)
    return address instanceof CelError ? address : address.toString() === text
  }),
  overload('string(net.IP) -> string', (_frame, address: IpAddress) => address.toString()),
  overload('net.IP.family() -> int', (_frame, { family }: IpAddress) => family),
  overload('net.IP.isUnspecified() -> bool', (_frame, address: IpAddress) => isUnspecified(address)),
  overload('net.IP.isLoopback() -> bool', (_frame, address: IpAddress) => isLoopback(address)),
  overload('net.IP.isLinkLocalMulticast() -> bool', (_frame, address: IpAddress) => isLinkLocalMulticast(address)),
  overload('net.IP.isLinkLocalUnicast() -> bool', (_frame, address: IpAddress) => isLinkLocalUnicast(address)),
  overload('net.IP.isGlobalUnicast() -> bool', (_frame, address: IpAddress) => isGlobalUnicast(address)),
]

const networks: readonly Overload[] = [
  overload('cidr(string) -> net.CIDR', (_frame, text: string) => toCidr(text)),
  overload('isCIDR(string) -> bool', (_frame, text: string) => parseCidr(text) !== undefined),
  overload('string(net.CIDR) -> string', (_frame, cidr: Cidr) => cidr.toString()),
  overload('net.CIDR.containsIP(net.IP) -> bool', (_frame, cidr: Cidr, address: IpAddress) =>
    containsIp(cidr, address),
  ),
  overload('net.CIDR.containsIP(string) -> bool', (_frame, cidr: Cidr, text: string) => containsIp(cidr, toIp(text))),
  overload('net.CIDR.containsCIDR(net.CIDR) -> bool', (_frame, cidr: Cidr, other: Cidr) => containsCidr(cidr, other)),
  overload('net.CIDR.containsCIDR(string) -> bool', (_frame, cidr: Cidr, text: string) =>
    containsCidr(cidr, toCidr(text)),
  ),
  overload('net.CIDR.ip() -> net.IP', (_frame, { address }: Cidr) => address),
  overload('net.CIDR.masked() -> net.CIDR', (_frame, cidr: Cidr) => masked(cidr)),
  overload('net.CIDR.prefixLength() -> int', (_frame, { length }: Cidr) => length),
]

/** Kubernetes' IP and CIDR libraries. */
export const networkLibrary: Library = {
  name: 'kubernetes-network',
  overloads: [...addresses, ...networks].map(charged),
  types: [opaqueType('net.IP'), opaqueType('net.CIDR')],
}

/** The same overload, paying for its work on wide integers. */
function charged(one: Overload): Overload {
  return {
    ...one,
    call: (frame, ...args) => {
      frame.charge(150)
      return one.call(frame, ...args)
    },
  }
}
