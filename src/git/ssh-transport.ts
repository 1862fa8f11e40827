import ssh2, { type ClientChannel, type ParsedKey, type PublicKeyAuthMethod, type ServerHostKeyAlgorithm } from 'ssh2'
import { Trouble } from './trouble.ts'
import { fingerprint, knownHost } from './known-hosts.ts'
import { sectionEnd } from './pkt-line.ts'
import type { RepositoryURL } from './repository-url.ts'
import { maxAnswerBytes, type GitService, type GitTransport } from './transport.ts'

export interface SshTransportOptions {
  readonly url: Extract<RepositoryURL, { over: 'ssh' }>
  readonly key: ParsedKey
  /** OpenSSH's `known_hosts`; a host that it does not know is not spoken to. */
  readonly knownHosts: string
  /** Counts a request before it is sent; throws when there may be none now. */
  readonly spend: () => void
  readonly signal: AbortSignal
}

/** Git's services over one SSH connection, opened when it is first needed. */
export class SshTransport implements GitTransport {
  readonly #options: SshTransportOptions
  #connection: Promise<ssh2.Client> | undefined
  /** Services that have introduced themselves and not been asked yet. */
  readonly #introduced = new Map<GitService, Channel>()

  constructor(options: SshTransportOptions) {
    this.#options = options
  }

  async advertisement(service: GitService): Promise<Buffer> {
    const channel = await this.#run(service)
    const introduction = await channel.introduction()
    this.#introduced.set(service, channel)
    return introduction
  }

  async ask(service: GitService, request: Buffer): Promise<Buffer> {
    let channel = this.#introduced.get(service)
    this.#introduced.delete(service)
    if (!channel) {
      channel = await this.#run(service)
      await channel.introduction()
    }
    return channel.answer(request)
  }

  close(): void {
    void this.#connection?.then(
      (connection) => connection.destroy(),
      () => undefined,
    )
  }

  async #run(service: GitService): Promise<Channel> {
    const { url, spend } = this.#options
    spend()
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

const handshakeMs = 30_000

function connect({ url, key, knownHosts, signal }: SshTransportOptions): Promise<ssh2.Client> {
  const { host, port, user } = url
  const known = knownHost(knownHosts, url)
  if (known.types.length === 0) return Promise.reject(refusedHost(url, 'is not in known_hosts'))
  const client = new ssh2.Client()
  return new Promise((resolve, reject) => {
    let refusal: Trouble | undefined
    const abort = () => {
      client.destroy()
      reject(unavailable(`${host} was not waited for any longer`))
    }
    const fail = (error: Error & { level?: string }) => reject(refusal ?? troubleOf(url, error))
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
      host,
      port,
      username: user,
      readyTimeout: handshakeMs,
      authHandler: [byKey],
      // Only a key of a kind that is known can be the known one; the host has others that would be taken for a change.
      algorithms: { serverHostKey: known.types.flatMap((type) => hostKeyAlgorithms[type] ?? []) },
      hostVerifier: (shown: Buffer) => {
        if (known.isRevoked(shown)) refusal = refusedHost(url, `shows the key ${fingerprint(shown)}, which is revoked`)
        else if (!known.isKnown(shown))
          refusal = refusedHost(url, `shows the key ${fingerprint(shown)}, which is not the one in known_hosts`)
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
  // The same key signs with either; SHA-1 signatures are not taken.
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
}

/** One service at work. */
class Channel {
  readonly #stream: ClientChannel
  readonly #host: string
  #received: Buffer[] = []
  #size = 0
  #complaint = ''
  /** Called whenever something has come, and at the end. */
  #heard: () => void = () => undefined
  #failure: Error | undefined
  #ended = false

  constructor(stream: ClientChannel, host: string) {
    this.#stream = stream
    this.#host = host
    stream.on('data', (chunk: Buffer) => {
      this.#received.push(chunk)
      this.#size += chunk.byteLength
      if (this.#size > maxAnswerBytes) this.#end(new Error(`${host} answered more than ${maxAnswerBytes} bytes`))
      else this.#heard()
    })
    stream.stderr.on('data', (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString('utf8')).slice(0, maxComplaint)
    })
    stream.on('error', (error: Error) => this.#end(error))
    stream.on('close', () => this.#end())
  }

  /** What comes before the first request; what follows it stays for the answer. */
  introduction(): Promise<Buffer> {
    return this.#until(() => {
      const received = Buffer.concat(this.#received)
      const end = sectionEnd(received)
      if (end === undefined) {
        if (this.#ended) throw complaintOf(this.#host, this.#complaint)
        return undefined
      }
      this.#received = [received.subarray(end)]
      return received.subarray(0, end)
    })
  }

  answer(request: Buffer): Promise<Buffer> {
    this.#stream.end(request)
    return this.#until(() => {
      if (!this.#ended) return undefined
      const received = Buffer.concat(this.#received)
      if (received.byteLength === 0) throw complaintOf(this.#host, this.#complaint)
      return received
    })
  }

  #end(failure?: Error): void {
    this.#failure ??= failure
    this.#ended = true
    if (failure) this.#stream.destroy()
    this.#heard()
  }

  #until(look: () => Buffer | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#heard = () => {
        try {
          if (this.#failure) throw this.#failure
          const found = look()
          if (found !== undefined) resolve(found)
        } catch (error) {
          reject(error as Error)
        }
      }
      this.#heard()
    })
  }
}

const maxComplaint = 1024

/** A server that only complains has its reason; what it means is known by its words alone. */
function complaintOf(host: string, complaint: string): Trouble {
  const said = complaint.replace(/\p{Cc}+/gu, ' ').trim()
  const message = `${host} ${said === '' ? 'said nothing' : `says ${said}`}`
  if (/not found|not exist|not appear to be a git repository|no such/i.test(said))
    return new Trouble('Permanent', 'RepositoryNotFound', message)
  if (/denied|read.?only|not allowed|unauthori[sz]ed|forbidden|permission|could not be authenticated/i.test(said))
    return new Trouble('Permanent', 'CredentialsRefused', message)
  return unavailable(message)
}

function troubleOf(url: SshTransportOptions['url'], error: Error & { level?: string }): Trouble {
  if (error.level === 'client-authentication')
    return new Trouble('Permanent', 'CredentialsRefused', `${url.host} refused the key for user ${url.user}`)
  if (/no matching host key/i.test(error.message))
    return refusedHost(url, 'shows no key of a kind that is in known_hosts')
  return unavailable(`${url.host}:${url.port}: ${error.message}`)
}

function refusedHost({ host, port }: SshTransportOptions['url'], problem: string): Trouble {
  return new Trouble('Permanent', 'HostKeyRefused', `${port === 22 ? host : `[${host}]:${port}`} ${problem}`)
}

function unavailable(message: string): Trouble {
  return new Trouble('Transient', 'GitProviderUnavailable', message)
}
