import type { ForgeType } from '../../../apis/pipeline.ts'
import type { StrategyRecord } from '../../../apis/pipeline-status.ts'
import type { RateLimiter } from '../../../forges/rate-limiter.ts'
import type { ResponseCache } from '../../../forges/forge-api.ts'
import type { Forge } from '../../../forges/forge.ts'
import { openForge } from '../../../forges/open-forge.ts'
import { repositoryAddress } from '../../../forges/repository-address.ts'
import type { SignCommit } from './change.ts'
import { HttpTransport } from '../../../git/http-transport.ts'
import { GitRemote, type GitService, type GitTransport } from '../../../git/remote.ts'
import { parseRepositoryURL, type RepositoryURL } from '../../../git/repository-url.ts'
import type { Http, Network } from '../../../runtime/http/http.ts'
import { sha256 } from '../model/identity.ts'
import { PromotionError, permanent } from '../../../git/promotion-error.ts'

/** The decoded content of a Secret. */
export type SecretData = Readonly<Record<string, string>>

export interface AccessPorts {
  readonly http: Http
  /** Opens connections for git over SSH. */
  readonly connect: Network['connect']
  readonly rateLimiter: RateLimiter
  /** Counts each request over SSH, with its outcome as the code. */
  readonly countRequest: (request: { readonly host: string; readonly method: string; readonly code: string }) => void
  /** Reads a Secret; undefined when it does not exist. */
  readonly readSecret: (place: { readonly namespace: string; readonly name: string }) => Promise<SecretData | undefined>
  /** Responses with an ETag, for conditional requests; by API and credential. */
  readonly responseCache: ResponseCache
}

/** Access to one repository: git always, the forge's API when its Secret has a token. */
export interface RepositoryAccess {
  readonly git: GitRemote
  /** Throws PromotionError without a token. */
  readonly forge: () => Forge
  /** Undefined when commits are not signed. */
  readonly sign: SignCommit | undefined
}

interface AccessContext {
  readonly ports: AccessPorts
  readonly signal: AbortSignal
  /** The time to write into commits and signatures. */
  readonly atMs: number
}

/** Opens a repository with the current content of its Secret. The caller closes `git`. */
export async function openRepository(
  strategy: StrategyRecord,
  namespace: string,
  given: AccessContext,
): Promise<RepositoryAccess> {
  const { ports, signal } = given
  const { url = '', secretName = '', type, apiURL } = strategy
  const secret = `${namespace}/${secretName}`
  const data = await ports.readSecret({ namespace, name: secretName })
  if (!data) throw missing(`Secret ${secret} was not found`)
  const address = type ? repositoryAddress(type as ForgeType, url, apiURL) : undefined
  const place = parseRepositoryURL(url)
  const transport =
    place?.over === 'ssh'
      ? await overSsh(place, data, { ...given, secret })
      : overHttp(address?.cloneURL ?? url, data, { ...given, secret })
  return {
    git: new GitRemote(transport),
    sign: signerOf(strategy, namespace, given),
    forge() {
      const { username, password, token, caFile: ca } = data
      if (token === undefined) throw missing(`Secret ${secret} has no token`)
      if (!type || !address) throw permanent('RequestRefused', 'the strategy has no forge type')
      return openForge(type as ForgeType, address, {
        http: ports.rateLimiter.wrap(ports.http, credentialId(username, token, password)),
        token,
        ca,
        signal,
        cache: ports.responseCache,
      })
    },
  }
}

/** Git over HTTPS, rate-limited by host and credential. */
function overHttp(
  url: string,
  { username, password, token, caFile: ca }: SecretData,
  { ports, signal, secret }: AccessContext & { readonly secret: string },
): GitTransport {
  const gitPassword = password ?? token
  if (gitPassword === undefined) throw missing(`Secret ${secret} has neither password nor token for git over HTTPS`)
  const http = ports.rateLimiter.wrap(ports.http, credentialId(username, token, password))
  return new HttpTransport({ url, username: username ?? 'git', password: gitPassword, ca, http, signal })
}

/** Git over SSH. Requires `known_hosts`: there is no trust on first use. */
async function overSsh(
  url: Extract<RepositoryURL, { over: 'ssh' }>,
  { identity, password, known_hosts: knownHosts }: SecretData,
  { ports, signal, secret }: AccessContext & { readonly secret: string },
): Promise<GitTransport> {
  if (identity === undefined) throw missing(`Secret ${secret} has no identity, the private key for SSH`)
  if (knownHosts === undefined)
    throw missing(`Secret ${secret} has no known_hosts, so the identity of ${url.host} cannot be verified`)
  // Imported on demand: most repositories are reached over HTTPS.
  const [{ SshTransport }, { readSshKey }] = await Promise.all([
    import('../../../git/ssh-transport.ts'),
    import('../../../git/ssh-key.ts'),
  ])
  const takeToken = () => void ports.rateLimiter.take(url.host, credentialId(url.user, identity))
  try {
    const key = readSshKey(identity, password)
    const transport = new SshTransport({ url, key, knownHosts, takeToken, signal, connect: ports.connect })
    return withCounting(transport, (method, code) => ports.countRequest({ host: url.host, method, code }))
  } catch (error) {
    throw keyError(`identity of Secret ${secret}`, error)
  }
}

/** Counts every request of a transport. */
function withCounting(transport: GitTransport, count: (method: string, code: string) => void): GitTransport {
  const counted = async (service: GitService, response: Promise<Buffer>) => {
    try {
      const body = await response
      count(service, 'ok')
      return body
    } catch (error) {
      count(service, error instanceof PromotionError ? error.because : 'none')
      throw error
    }
  }
  return {
    advertisement: (service) => counted(service, transport.advertisement(service)),
    request: (service, body, version) => counted(service, transport.request(service, body, version)),
    close: () => transport.close(),
  }
}

/** Reads the key only when there is a commit to sign. */
function signerOf(
  { signingSecretName: name }: StrategyRecord,
  namespace: string,
  { ports, atMs }: AccessContext,
): SignCommit | undefined {
  if (!name) return undefined
  return async (commit) => {
    const secret = `${namespace}/${name}`
    const data = await ports.readSecret({ namespace, name })
    if (!data) throw missing(`commit.signingKeyRef: Secret ${secret} was not found`)
    return signCommit(commit, { data, secret, atMs })
  }
}

/** A digest that tells accounts apart without revealing them. */
function credentialId(username: string | undefined, ...keys: readonly (string | undefined)[]): string {
  return sha256(`${username ?? ''}:${keys.find((key) => key !== undefined) ?? ''}`).slice(0, 16)
}

function missing(message: string): PromotionError {
  return permanent('CredentialsMissing', message)
}

/** Signs a commit with the key in a Secret: an SSH key under `identity` or an OpenPGP key under `git.asc`. */
async function signCommit(
  commit: Buffer,
  given: { readonly data: SecretData; readonly secret: string; readonly atMs: number },
): Promise<string> {
  const { data, secret, atMs } = given
  const { identity, password, 'git.asc': armored, passphrase } = data
  if ((identity === undefined) === (armored === undefined))
    throw permanent(
      'CredentialsMissing',
      `commit.signingKeyRef: Secret ${secret} must have either identity (an SSH key) or git.asc (an OpenPGP key)`,
    )
  try {
    // Imported on demand: most pipelines do not sign commits.
    if (armored !== undefined) {
      const { openPgpSignature } = await import('../../../git/openpgp-signature.ts')
      return await openPgpSignature(armored, { passphrase, commit, atMs })
    }
    const { sshSignature, readSshKey } = await import('../../../git/ssh-key.ts')
    return sshSignature(readSshKey(identity ?? '', password), commit)
  } catch (error) {
    throw keyError(`commit.signingKeyRef: ${armored === undefined ? 'identity' : 'git.asc'} of Secret ${secret}`, error)
  }
}

/** Says which key cannot be used and why, without any part of the key. */
function keyError(key: string, error: unknown): PromotionError {
  return permanent('KeyInvalid', `${key} ${(error as Error).message}`, { cause: error })
}
