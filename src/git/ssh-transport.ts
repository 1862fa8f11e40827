import ssh2, { type ClientChannel, type ParsedKey, type PublicKeyAuthMethod, type ServerHostKeyAlgorithm } from 'ssh2'
import { type PromotionError, permanent, transient } from './promotion-error.ts'
import { sectionEnd, maxResponseBytes, type GitService, type GitTransport } from './remote.ts'
import type { Network } from '../runtime/http/http.ts'
import type { RepositoryURL } from './repository-url.ts'
import { createHash, createHmac } from 'node:crypto'

export interface SshTransportOptions {
  readonly url: Extract<RepositoryURL, { over: 'ssh' }>
  readonly key: ParsedKey
  /** Content of OpenSSH's `known_hosts`. The transport refuses hosts that it does not list. */
  readonly knownHosts: string
  /** Called before each request; throws when the rate limit is reached. */
  readonly takeToken: () => void
  readonly signal: AbortSignal
  /** Opens the TCP connection. */
  readonly connect: Network['connect']
}

/** Git over one SSH connection, opened on first use. */
export class SshTransport implements GitTransport {
  readonly #options: SshTransportOptions
  #connection: Promise<ssh2.Client> | undefined
  /** Channels whose advertisement has been read and that have not received a request yet. */
  readonly #advertised = new Map<GitService, Channel>()

  constructor(options: SshTransportOptions) {
    this.#options = options
  }

  async advertisement(service: GitService): Promise<Buffer> {
    const channel = await this.#run(service)
    const advertisement = await channel.advertisement()
    this.#advertised.set(service, channel)
    return advertisement
  }

  async request(service: GitService, body: Buffer): Promise<Buffer> {
    let channel = this.#advertised.get(service)
    this.#advertised.delete(service)
    if (!channel) {
      channel = await this.#run(service)
      await channel.advertisement()
    }
    return channel.request(body)
  }

  close(): void {
    void this.#connection?.then(
      (connection) => connection.destroy(),
      () => undefined,
    )
  }

  async #run(service: GitService): Promise<Channel> {
    const { url, takeToken } = this.#options
    takeToken()
    this.#connection ??= connect(this.#options)
    const connection = await this.#connection
    const command = `${service} '${url.path.replaceAll("'", String.raw`'\''`)}'`
    const env = service === 'git-upload-pack' ? { GIT_PROTOCOL: 'version=2' } : {}
    return new Promise((resolve, reject) => {
      const lost = () => reject(unavailable(`${url.host} closed the connection`))
      connection.once('close', lost)
      connection.exec(command, { env }, (error, stream) => {
        connection.off('close', lost)
        if (error) reject(unavailable(`${url.host} refused to run ${service}: ${error.message}`))
        else resolve(new Channel(stream, url.host))
      })
    })
  }
}

const handshakeTimeoutMs = 30_000

/** Connects and authenticates. Rejects with HostKeyRefused before any credential is offered to an unknown host. */
function connect({ url, key, knownHosts, signal, connect: open }: SshTransportOptions): Promise<ssh2.Client> {
  const { host, port, user } = url
  const known = knownHost(knownHosts, url)
  if (known.types.length === 0) return Promise.reject(hostKeyRefused(url, 'is not in known_hosts'))
  const client = new ssh2.Client()
  return new Promise((resolve, reject) => {
    let refusal: PromotionError | undefined
    const abort = () => {
      client.destroy()
      reject(unavailable(`the connection to ${host} was aborted`))
    }
    const fail = (error: Error & { level?: string }) => reject(refusal ?? connectionError(url, error))
    signal.addEventListener('abort', abort, { once: true })
    client.on('close', () => {
      signal.removeEventListener('abort', abort)
      reject(refusal ?? unavailable(`${host} closed the connection`))
    })
    client.on('error', fail)
    client.on('ready', () => resolve(client))
    if (signal.aborted) return abort()
    const byKey: PublicKeyAuthMethod = { type: 'publickey', username: user, key }
    client.connect({
      sock: open({ host, port }),
      username: user,
      readyTimeout: handshakeTimeoutMs,
      authHandler: [byKey],
      // Negotiate only key types listed in known_hosts: a key of another type would look like a changed host key.
      algorithms: { serverHostKey: known.types.flatMap((type) => hostKeyAlgorithms[type] ?? []) },
      hostVerifier: (shown: Buffer) => {
        if (known.isRevoked(shown))
          refusal = hostKeyRefused(url, `presents the key ${fingerprint(shown)}, which known_hosts marks as revoked`)
        else if (!known.isKnown(shown))
          refusal = hostKeyRefused(url, `presents the key ${fingerprint(shown)}, which is not in known_hosts`)
        return refusal === undefined
      },
    })
  })
}

const hostKeyAlgorithms: Readonly<Record<string, ServerHostKeyAlgorithm[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  // One RSA key supports both algorithms; SHA-1 signatures are not accepted.
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
}

/** One running git service. */
class Channel {
  readonly #stream: ClientChannel
  readonly #host: string
  #received: Buffer[] = []
  #size = 0
  #stderr = ''
  /** Called on each chunk and at the end. */
  #onProgress: () => void = () => undefined
  #failure: Error | undefined
  #ended = false

  constructor(stream: ClientChannel, host: string) {
    this.#stream = stream
    this.#host = host
    stream.on('data', (chunk: Buffer) => {
      this.#received.push(chunk)
      this.#size += chunk.byteLength
      if (this.#size > maxResponseBytes)
        this.#end(new Error(`the response of ${host} exceeds ${maxResponseBytes} bytes`))
      else this.#onProgress()
    })
    stream.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(0, maxStderr)
    })
    stream.on('error', (error: Error) => this.#end(error))
    stream.on('close', () => this.#end())
  }

  /** The first section of the output. Later bytes stay buffered for the response. */
  advertisement(): Promise<Buffer> {
    return this.#until(() => {
      const received = Buffer.concat(this.#received)
      const end = sectionEnd(received)
      if (end === undefined) {
        if (this.#ended) throw errorFromStderr(this.#host, this.#stderr)
        return undefined
      }
      this.#received = [received.subarray(end)]
      return received.subarray(0, end)
    })
  }

  /** Sends the request and reads until the service exits. */
  request(body: Buffer): Promise<Buffer> {
    this.#stream.end(body)
    return this.#until(() => {
      if (!this.#ended) return undefined
      const received = Buffer.concat(this.#received)
      if (received.byteLength === 0) throw errorFromStderr(this.#host, this.#stderr)
      return received
    })
  }

  #end(failure?: Error): void {
    this.#failure ??= failure
    this.#ended = true
    if (failure) this.#stream.destroy()
    this.#onProgress()
  }

  /** Resolves with the first buffer that `read` returns; `read` runs on each chunk and at the end. */
  #until(read: () => Buffer | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#onProgress = () => {
        try {
          if (this.#failure) throw this.#failure
          const found = read()
          if (found !== undefined) resolve(found)
        } catch (error) {
          reject(error as Error)
        }
      }
      this.#onProgress()
    })
  }
}

const maxStderr = 1024

/** Git over SSH has no status codes: the text on stderr tells the kind of error. It is not shown, as no answer's body is. */
function errorFromStderr(host: string, stderr: string): PromotionError {
  if (/not found|not exist|not appear to be a git repository|no such/i.test(stderr))
    return permanent('RepositoryNotFound', `${host} has no such repository`)
  if (/denied|read.?only|not allowed|unauthori[sz]ed|forbidden|permission|could not be authenticated/i.test(stderr))
    return permanent(
      'CredentialsRefused',
      `${host} refused access${/read.?only/i.test(stderr) ? ': the key is read-only' : ''}`,
    )
  return unavailable(`${host} ended the connection ${stderr.trim() === '' ? 'without a response' : 'with an error'}`)
}

/** Classifies an error of the SSH library. */
function connectionError(url: SshTransportOptions['url'], error: Error & { level?: string }): PromotionError {
  if (error.level === 'client-authentication')
    return permanent('CredentialsRefused', `${url.host} refused the key for user ${url.user}`)
  if (/no matching host key/i.test(error.message))
    return hostKeyRefused(url, 'presents no key of a type in known_hosts')
  return unavailable(`${url.host}:${url.port}: ${error.message}`)
}

function hostKeyRefused({ host, port }: SshTransportOptions['url'], problem: string): PromotionError {
  return permanent('HostKeyRefused', `${port === 22 ? host : `[${host}]:${port}`} ${problem}`)
}

function unavailable(message: string): PromotionError {
  return transient('GitProviderUnavailable', message)
}

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
