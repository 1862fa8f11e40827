import type { ForgeType } from '../../apis/pipeline.ts'
import type { StrategyRecord } from '../../apis/pipeline-status.ts'
import type { ForgeBudget } from './budget.ts'
import type { KnownAnswers } from './forges/forge-api.ts'
import type { Forge } from './forges/forge.ts'
import { openForge } from './forges/open-forge.ts'
import { repositoryAddress } from './forges/repository-address.ts'
import { GitRemote } from './git/remote.ts'
import type { Http } from './http.ts'
import { sha256 } from './identity.ts'
import { Trouble } from './trouble.ts'

/** The decoded content of a Secret. */
export type SecretData = Readonly<Record<string, string>>

export interface AccessPorts {
  readonly http: Http
  readonly budget: ForgeBudget
  /** Undefined when there is no such Secret. */
  readonly secret: (place: { readonly namespace: string; readonly name: string }) => Promise<SecretData | undefined>
  /** Answers the forges said they would confirm, by credential. */
  readonly known: Map<string, KnownAnswers>
}

/** The way to one repository: git always, the forge's API where a token is at hand. */
export interface RepositoryAccess {
  readonly git: GitRemote
  readonly forge: () => Forge
}

/** Opens a repository with the credentials its Secret holds now. */
export async function openRepository(
  strategy: StrategyRecord,
  namespace: string,
  { ports, signal }: { readonly ports: AccessPorts; readonly signal: AbortSignal },
): Promise<RepositoryAccess> {
  const { url = '', secretName = '', type, apiURL } = strategy
  const data = await ports.secret({ namespace, name: secretName })
  if (!data) throw missing(`Secret ${namespace}/${secretName} was not found`)
  const { username, password, token, caFile: ca } = data
  const gitPassword = password ?? token
  if (gitPassword === undefined) throw missing(`Secret ${namespace}/${secretName} has neither password nor token`)
  const http = ports.budget.wrap(ports.http, sha256(`${username ?? ''}:${token ?? gitPassword}`).slice(0, 16))
  const address = type ? repositoryAddress(type as ForgeType, url, apiURL) : undefined
  const cloneURL = address?.cloneURL ?? url
  return {
    git: new GitRemote({ url: cloneURL, username: username ?? 'git', password: gitPassword, ca, http, signal }),
    forge() {
      if (token === undefined) throw missing(`Secret ${namespace}/${secretName} has no token`)
      if (!type || !address) throw new Trouble('Permanent', 'RequestRefused', 'the repository has no forge')
      return openForge(type as ForgeType, address, {
        http,
        token,
        ca,
        signal,
        known: knownFor(ports, address.apiURL, token),
      })
    },
  }
}

function knownFor({ known }: AccessPorts, apiURL: string, token: string): KnownAnswers {
  const key = sha256(`${apiURL} ${token}`)
  const answers: KnownAnswers = known.get(key) ?? new Map()
  known.set(key, answers)
  return answers
}

function missing(message: string): Trouble {
  return new Trouble('Permanent', 'CredentialsMissing', message)
}
