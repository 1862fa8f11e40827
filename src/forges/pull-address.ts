import type { ForgeType } from '../apis/pipeline.ts'

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
