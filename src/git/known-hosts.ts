import { createHash, createHmac } from 'node:crypto'

/** The entries of a `known_hosts` file for one host. */
export interface KnownHost {
  /** Listed key types, such as `ssh-ed25519`. */
  readonly types: readonly string[]
  isKnown(key: Buffer): boolean
  isRevoked(key: Buffer): boolean
}

/** Reads OpenSSH's `known_hosts`, including hashed names and patterns. Certificate authorities are not supported. */
export function knownHost(file: string, place: { readonly host: string; readonly port: number }): KnownHost {
  const name = place.port === 22 ? place.host : `[${place.host}]:${place.port}`
  const lines = file.split(/\r?\n/).flatMap((line) => parseLine(line) ?? [])
  const ofHost = lines.filter(({ hosts }) => matchesHost(hosts, name))
  const known = ofHost.filter(({ mark }) => mark === undefined)
  const revoked = ofHost.filter(({ mark }) => mark === '@revoked')
  return {
    types: [...new Set(known.map(({ type }) => type))],
    isKnown: (key) => known.some((line) => line.key.equals(key)),
    isRevoked: (key) => revoked.some((line) => line.key.equals(key)),
  }
}

/** A key's fingerprint in OpenSSH's notation. */
export function fingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

interface Line {
  readonly mark: string | undefined
  readonly hosts: string
  readonly type: string
  readonly key: Buffer
}

function parseLine(line: string): Line | undefined {
  const words = line.trim().split(/\s+/)
  if (words[0]?.startsWith('#')) return undefined
  const mark = words[0]?.startsWith('@') ? words.shift() : undefined
  const [hosts, type, key] = words
  return hosts && type && key ? { mark, hosts, type, key: Buffer.from(key, 'base64') } : undefined
}

/** Whether a hosts field matches: a hashed name, or a list of patterns where a negated match excludes the host. */
function matchesHost(hosts: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([^|]+)\|(.+)$/.exec(hosts) ?? []
  if (salt && hash) return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash
  const patterns = hosts.toLowerCase().split(',')
  if (patterns.some((pattern) => pattern.startsWith('!') && matchesPattern(pattern.slice(1), name))) return false
  return patterns.some((pattern) => matchesPattern(pattern, name))
}

/** Matches `*` and `?` in linear space without a regular expression, which a hostile pattern could slow down. */
function matchesPattern(pattern: string, name: string): boolean {
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
