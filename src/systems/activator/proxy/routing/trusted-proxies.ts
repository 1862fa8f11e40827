import { BlockList, isIP } from 'node:net'

/** Tells whether an address is one of these addresses or in one of these CIDR ranges. */
export function trustedProxies(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => false
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', length] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (length === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(length), family)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** What is wrong with an entry of the list; undefined when it can be used. */
export function trustedProxyProblem(range: string): string | undefined {
  const [address = '', length = '0', ...rest] = range.split('/')
  const family = isIP(address)
  const isRange = /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128) && rest.length === 0
  return family !== 0 && isRange ? undefined : 'it must be an address or a CIDR range such as 10.1.0.0/16'
}
