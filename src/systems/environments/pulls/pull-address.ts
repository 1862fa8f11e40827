import type { EnvironmentClass } from '../../../apis/environment-class.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { ForgeType } from '../../../apis/pipeline.ts'
import type { Place } from '../../../kube/object.ts'

/** Where a pull request is. */
export interface PullAddress {
  readonly type: ForgeType
  readonly host: string
  /** Web address of the repository. */
  readonly repositoryUrl: string
  /** Owner and name, such as `acme/shop`. */
  readonly repository: string
  readonly number: number
}

/** How a pull request is reached: the credential, and whether a tenant chose it. */
export interface PullAccess {
  readonly address: PullAddress
  readonly secret: Required<Place>
  readonly by: 'class' | 'environment'
}

const shapes: readonly (readonly [ForgeType, RegExp])[] = [
  ['gitlab', /^\/(.+?)\/-\/merge_requests\/(\d+)\/?$/],
  ['azure-devops', /^\/(.+\/_git\/[^/]+)\/pullrequest\/(\d+)\/?$/i],
  ['bitbucket-server', /^\/((?:.+\/)?projects\/[^/]+\/repos\/[^/]+)\/pull-requests\/(\d+)(?:\/overview)?\/?$/],
  ['bitbucket-cloud', /^\/([^/]+\/[^/]+)\/pull-requests\/(\d+)\/?$/],
  ['github', /^\/([^/]+\/[^/]+)\/pull\/(\d+)\/?$/],
  ['gitea', /^\/([^/]+\/[^/]+)\/pulls\/(\d+)\/?$/],
]

/** Reads the web address of a pull request, whose path tells the kind of forge; undefined for any other address. */
export function parsePullUrl(text: string): PullAddress | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, host, pathname, origin } = new URL(text)
  if (protocol !== 'https:') return undefined
  for (const [type, shape] of shapes) {
    const [, path, number] = shape.exec(pathname) ?? []
    if (path === undefined || number === undefined) continue
    const repository =
      type === 'bitbucket-server'
        ? path.replace(/projects\/([^/]+)\/repos\//, '$1/')
        : type === 'azure-devops'
          ? path.replace('/_git/', '/')
          : path
    return { type, host, repositoryUrl: `${origin}/${path}`, repository, number: Number(number) }
  }
  return undefined
}

/** The credential for a pull request, or why there is none. A token is only ever used for the repositories it was given for. */
export function accessTo(
  url: string,
  {
    ownSecret,
    environmentClass,
  }: { readonly ownSecret: Required<Place> | undefined; readonly environmentClass: EnvironmentClass | undefined },
): PullAccess | { readonly reason: 'InvalidURL' | 'NotAllowed'; readonly message: string } {
  const address = parsePullUrl(url)
  if (!address)
    return { reason: 'InvalidURL', message: 'spec.pullRequest.url is not the https address of a pull request' }
  if (ownSecret) return { address, secret: ownSecret, by: 'environment' }
  const { forges = [] } = environmentClass?.spec.pullRequest ?? {}
  const forge = forges.find(
    ({ host, type, repositories }) =>
      host === address.host &&
      // The path is read in the same way as it was matched: a decoded slash would be another repository.
      (type === 'forgejo' ? 'gitea' : type) === address.type &&
      !/%(?:2f|5c|2e)/i.test(address.repository) &&
      repositories.some((each) => matchesGlob(each, address.repository)),
  )
  if (!forge)
    return {
      reason: 'NotAllowed',
      message: `no entry of spec.pullRequest.forges of the class allows ${address.host}/${address.repository}, and the environment names no secretRef`,
    }
  const secret = { namespace: sojournNamespace, name: forge.secretRef.name }
  return { address: { ...address, type: forge.type }, secret, by: 'class' }
}

/** `acme/*` matches every repository of acme; an asterisk stands for any text without a slash. */
function matchesGlob(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]*')}$`, 'i').test(text)
}
