import { domainToASCII } from 'node:url'

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const port = /^[0-9]{1,5}$/
const ipv6 = /^\[([0-9a-f:.]+)\]$/
const maxNameBytes = 253

/** The one form under which a host is stored and looked up: lower case, no port, no final dot. Undefined if it is none. */
export function canonicalHost(raw: string): string | undefined {
  const name = withoutPort(raw.toLowerCase())
  if (name === undefined) return undefined
  if (name.startsWith('[')) return canonicalIpv6(name)
  const bare = name.endsWith('.') ? name.slice(0, -1) : name
  if (bare.length === 0 || bare.length > maxNameBytes) return undefined
  return bare.split('.').every((part) => label.test(part)) ? bare : undefined
}

/** A host as written in configuration: may be Unicode or, with `*.` in front, a wildcard. */
export function configuredHost(written: string): string | undefined {
  const text = written.trim()
  if (text === '*') return '*'
  if (text.startsWith('*.')) {
    const rest = configuredHost(text.slice(2))
    return rest === undefined || rest.includes('*') ? undefined : `*.${rest}`
  }
  // eslint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return canonicalHost(text)
  if (/[/?#@\\\s%]/.test(text)) return undefined
  const ascii = domainToASCII(text.replace(/:[0-9]+$/, ''))
  return ascii === '' ? undefined : canonicalHost(ascii)
}

function withoutPort(host: string): string | undefined {
  const from = host.startsWith('[') ? host.indexOf(']') : 0
  if (from < 0) return undefined
  const colon = host.indexOf(':', from)
  if (colon < 0) return host
  return port.test(host.slice(colon + 1)) ? host.slice(0, colon) : undefined
}

/** An address literal in its shortest form, so that `[::1]` and `[0:0:0:0:0:0:0:1]` are one host. */
function canonicalIpv6(host: string): string | undefined {
  const inside = ipv6.exec(host)?.[1]
  if (inside === undefined || !URL.canParse(`http://[${inside}]/`)) return undefined
  return new URL(`http://[${inside}]/`).hostname
}
