import type { ForgeType } from '../apis/pipeline.ts'
import { azureDevops } from './azure-devops.ts'
import { bitbucketCloud } from './bitbucket-cloud.ts'
import { bitbucketServer } from './bitbucket-server.ts'
import { ForgeApi, type ForgeApiOptions } from './forge-api.ts'
import type { Forge } from './forge.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { transient } from '../git/promotion-error.ts'
import type { RepositoryAddress } from './repository-address.ts'

/** Credentials and connection for a forge's API. */
export interface ForgeAccess extends Pick<ForgeApiOptions, 'http' | 'ca' | 'signal' | 'cache'> {
  readonly token: string
}

/** The API of a repository's forge, whichever it is, behind one interface. */
export function openForge(type: ForgeType, address: RepositoryAddress, access: ForgeAccess): Forge {
  const { http, token, ca, signal, cache } = access
  const { open, headers } = dialects[type]
  const forge = open(new ForgeApi({ http, base: address.apiURL, headers: headers(token), ca, signal, cache }), address)
  return withPlainErrors(forge, address)
}

/** An answer that cannot be read, as that of a proxy, is told as such, not by the place in our code. */
function withPlainErrors(forge: Forge, { apiURL }: RepositoryAddress): Forge {
  type Operation = (...given: readonly unknown[]) => Promise<unknown>
  const operations = Object.entries(forge as unknown as Record<string, Operation>).map(([name, operation]) => [
    name,
    (...given: readonly unknown[]) =>
      operation(...given).catch((error: NodeJS.ErrnoException) => {
        if (!(error instanceof TypeError) || error.code !== undefined) throw error
        const { host } = new URL(apiURL)
        throw transient('GitProviderUnavailable', `${host} did not answer as the API of a forge does`, { cause: error })
      }),
  ])
  return Object.fromEntries(operations) as unknown as Forge
}

/** How to talk to one kind of forge: its operations and its authentication headers. */
interface Dialect {
  readonly open: (api: ForgeApi, address: RepositoryAddress) => Forge
  readonly headers: (token: string) => Readonly<Record<string, string>>
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const dialects: Readonly<Record<ForgeType, Dialect>> = {
  github: {
    open: github,
    headers: (token) => ({
      ...bearer(token),
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
    }),
  },
  gitlab: { open: gitlab, headers: (token) => ({ 'private-token': token }) },
  gitea: { open: gitea, headers: (token) => ({ authorization: `token ${token}` }) },
  forgejo: { open: gitea, headers: (token) => ({ authorization: `token ${token}` }) },
  'bitbucket-server': {
    open: bitbucketServer,
    headers: (token) => ({ ...bearer(token), 'x-atlassian-token': 'no-check' }),
  },
  'bitbucket-cloud': { open: bitbucketCloud, headers: bearer },
  // A personal access token goes into Basic authentication as the password, with an empty user name.
  'azure-devops': {
    open: azureDevops,
    headers: (token) => ({ authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}` }),
  },
}
