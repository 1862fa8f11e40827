import type { ForgeType } from '../../../apis/pipeline.ts'
import type { StrategyRecord } from '../../../apis/pipeline-status.ts'
import type { ForgeBudget } from '../../../forges/budget.ts'
import { newKnownAnswers, type KnownAnswers } from '../../../forges/forge-api.ts'
import type { Forge } from '../../../forges/forge.ts'
import { openForge } from '../../../forges/open-forge.ts'
import { repositoryAddress } from '../../../forges/repository-address.ts'
import type { SignCommit } from './change.ts'
import { HttpTransport } from '../../../git/http-transport.ts'
import { GitRemote } from '../../../git/remote.ts'
import { parseRepositoryURL, type RepositoryURL } from '../../../git/repository-url.ts'
import type { GitService, GitTransport } from '../../../git/transport.ts'
import type { Http } from '../../../runtime/http/http.ts'
import { sha256 } from '../model/identity.ts'
import { keyTrouble, signCommit } from './signing.ts'
import { Trouble } from '../../../git/trouble.ts'

/** The decoded content of a Secret. */
export type SecretData = Readonly<Record<string, string>>

export interface AccessPorts {
  readonly http: Http
  readonly budget: ForgeBudget
  /** Told of each request that does not go by `http`, and how it ended. */
  readonly heard: (request: { readonly host: string; readonly method: string; readonly code: string }) => void
  /** Undefined when there is no such Secret. */
  readonly secret: (place: { readonly namespace: string; readonly name: string }) => Promise<SecretData | undefined>
  /** Answers the forges said they would confirm, by credential. */
  readonly known: Map<string, KnownAnswers>
}

/** The way to one repository: git always, the forge's API where a token is at hand. */
export interface RepositoryAccess {
  readonly git: GitRemote
  readonly forge: () => Forge
  /** Absent where commits are not to be signed. */
  readonly sign: SignCommit | undefined
}

interface AccessGiven {
  readonly ports: AccessPorts
  readonly signal: AbortSignal
  /** When commits are said to be made. */
  readonly atMs: number
}

/** Opens a repository with the credentials its Secret holds now. Git's connection is the caller's to close. */
export async function openRepository(
  strategy: StrategyRecord,
  namespace: string,
  given: AccessGiven,
): Promise<RepositoryAccess> {
  const { ports, signal } = given
  const { url = '', secretName = '', type, apiURL } = strategy
  const secret = `${namespace}/${secretName}`
  const data = await ports.secret({ namespace, name: secretName })
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
      if (!type || !address) throw new Trouble('Permanent', 'RequestRefused', 'the repository has no forge')
      return openForge(type as ForgeType, address, {
        http: ports.budget.wrap(ports.http, credential(username, token, password)),
        token,
        ca,
        signal,
        known: knownFor(ports, address.apiURL, token),
      })
    },
  }
}

function overHttp(
  url: string,
  { username, password, token, caFile: ca }: SecretData,
  { ports, signal, secret }: AccessGiven & { readonly secret: string },
): GitTransport {
  const gitPassword = password ?? token
  if (gitPassword === undefined) throw missing(`Secret ${secret} has neither password nor token`)
  const http = ports.budget.wrap(ports.http, credential(username, token, password))
  return new HttpTransport({ url, username: username ?? 'git', password: gitPassword, ca, http, signal })
}

async function overSsh(
  url: Extract<RepositoryURL, { over: 'ssh' }>,
  { identity, password, known_hosts: knownHosts }: SecretData,
  { ports, signal, secret }: AccessGiven & { readonly secret: string },
): Promise<GitTransport> {
  if (identity === undefined) throw missing(`Secret ${secret} has no identity, the private key for SSH`)
  if (knownHosts === undefined)
    throw missing(`Secret ${secret} has no known_hosts, so ${url.host} cannot be told from others`)
  // Loaded by those whose repositories are reached by SSH, and nobody else.
  const [{ SshTransport }, { readSshKey }] = await Promise.all([
    import('../../../git/ssh-transport.ts'),
    import('../../../git/ssh-key.ts'),
  ])
  const spend = () => void ports.budget.spend(url.host, credential(url.user, identity))
  try {
    const transport = new SshTransport({ url, key: readSshKey(identity, password), knownHosts, spend, signal })
    return counted(transport, (method, code) => ports.heard({ host: url.host, method, code }))
  } catch (error) {
    throw keyTrouble(`identity of Secret ${secret}`, error)
  }
}

/** The same, with every request told of. */
function counted(transport: GitTransport, tell: (method: string, code: string) => void): GitTransport {
  const told = async (service: GitService, answer: Promise<Buffer>) => {
    try {
      const given = await answer
      tell(service, 'ok')
      return given
    } catch (error) {
      tell(service, error instanceof Trouble ? error.because : 'none')
      throw error
    }
  }
  return {
    advertisement: (service) => told(service, transport.advertisement(service)),
    ask: (service, request, version) => told(service, transport.ask(service, request, version)),
    close: () => transport.close(),
  }
}

/** Reads the key only when there is something to sign. */
function signerOf(
  { signingSecretName: name }: StrategyRecord,
  namespace: string,
  { ports, atMs }: AccessGiven,
): SignCommit | undefined {
  if (!name) return undefined
  return async (commit) => {
    const secret = `${namespace}/${name}`
    const data = await ports.secret({ namespace, name })
    if (!data) throw missing(`commit.signingKeyRef: Secret ${secret} was not found`)
    return signCommit(commit, { data, secret, atMs })
  }
}

/** Tells accounts apart without telling what they are. */
function credential(username: string | undefined, ...keys: readonly (string | undefined)[]): string {
  return sha256(`${username ?? ''}:${keys.find((key) => key !== undefined) ?? ''}`).slice(0, 16)
}

function knownFor({ known }: AccessPorts, apiURL: string, token: string): KnownAnswers {
  const key = sha256(`${apiURL} ${token}`)
  const answers: KnownAnswers = known.get(key) ?? newKnownAnswers()
  known.set(key, answers)
  return answers
}

function missing(message: string): Trouble {
  return new Trouble('Permanent', 'CredentialsMissing', message)
}
