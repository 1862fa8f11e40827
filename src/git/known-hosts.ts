import { createHash, createHmac } from 'node:crypto'

/** What a `known_hosts` file says of one host. */
export interface KnownHost {
  /** Kinds of keys it may show: `ssh-ed25519`, `ecdsa-sha2-nistp256`, `ssh-rsa`. */
  readonly types: readonly string[]
  isKnown(key: Buffer): boolean
  isRevoked(key: Buffer): boolean
}

/** Reads OpenSSH's `known_hosts`, hashed names and patterns included. Lines that name an authority are passed over. */
export function knownHost(file: string, place: { readonly host: string; readonly port: number }): KnownHost {
  const name = place.port === 22 ? place.host : `[${place.host}]:${place.port}`
  const lines = file.split(/\r?\n/).flatMap((line) => parsedLine(line) ?? [])
  const ofHost = lines.filter(({ hosts }) => names(hosts, name))
  const known = ofHost.filter(({ mark }) => mark === undefined)
  const revoked = ofHost.filter(({ mark }) => mark === '@revoked')
  return {
    types: [...new Set(known.map(({ type }) => type))],
    isKnown: (key) => known.some((line) => line.key.equals(key)),
    isRevoked: (key) => revoked.some((line) => line.key.equals(key)),
  }
}

/** A key as OpenSSH shows it to people. */
export function fingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

interface Line {
  readonly mark: string | undefined
  readonly hosts: string
  readonly type: string
  readonly key: Buffer
}

function parsedLine(line: string): Line | undefined {
  const words = line.trim().split(/\s+/)
  if (words[0]?.startsWith('#')) return undefined
  const mark = words[0]?.startsWith('@') ? words.shift() : undefined
  const [hosts, type, key] = words
  return hosts && type && key ? { mark, hosts, type, key: Buffer.from(key, 'base64') } : undefined
}

/** One hashed name, or patterns of which one must fit and none that is negated may. */
function names(hosts: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([^|]+)\|(.+)$/.exec(hosts) ?? []
  if (salt && hash) return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash
  const patterns = hosts.toLowerCase().split(',')
  if (patterns.some((pattern) => pattern.startsWith('!') && fits(pattern.slice(1), name))) return false
  return patterns.some((pattern) => fits(pattern, name))
}

/** `*` and `?` as in a shell, without a regular expression that could be made slow. */
function fits(pattern: string, name: string): boolean {
  let [at, star, resume] = [0, -1, 0]
  for (let index = 0; index < name.length;) {
    if (pattern[at] === '?' || (pattern[at] !== '*' && pattern[at] === name[index])) {
      at++
      index++
    } else if (pattern[at] === '*') {
      star = at++
      resume = index
    } else if (star >= 0) {
      at = star + 1
      index = ++resume
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
