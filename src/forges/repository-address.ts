import type { ForgeType } from '../apis/pipeline.ts'
import { parseRepositoryURL, repositoryURLForms, type RepositoryURL } from '../git/repository-url.ts'
import { type PromotionError, permanent } from '../git/promotion-error.ts'

/** The URLs of a repository and of its forge's API. */
export interface RepositoryAddress {
  /** URL for git over HTTPS. */
  readonly cloneURL: string
  /** Base URL of the API, without a trailing slash. */
  readonly apiURL: string
  /** User, organisation, group with subgroups, project key or workspace. */
  readonly owner: string
  readonly name: string
  /** Azure only: the project between organisation and repository. */
  readonly project?: string
}

/** Derives the addresses from a repository's URL by the forge's conventions; throws PromotionError if it does not fit. */
export function repositoryAddress(type: ForgeType, url: string, apiURL?: string): RepositoryAddress {
  const parsed = webUrl(type, url)
  const segments = segmentsOf(parsed.pathname)
  const address = segments && readers[type](parsed, segments)
  if (!address?.owner || !address.name) throw invalid(url, `is not the URL of a repository on ${type}`)
  return apiURL ? { ...address, apiURL: apiURL.replace(/\/+$/, '') } : address
}

/** Undefined for a path with an invalid escape, such as `%zz`. */
function segmentsOf(path: string): readonly string[] | undefined {
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent)
  } catch {
    return undefined
  }
}

type Reader = (url: URL, segments: readonly string[]) => RepositoryAddress | undefined

const readers: Readonly<Record<ForgeType, Reader>> = {
  github: (url, segments) => ({
    ...ownerAndName(url, segments, 2),
    apiURL: url.host === 'github.com' ? 'https://api.github.com' : `${url.origin}/api/v3`,
  }),
  gitlab: (url, segments) => ({ ...ownerAndName(url, segments), apiURL: `${url.origin}/api/v4` }),
  gitea: (url, segments) => ({ ...ownerAndName(url, segments, 2), apiURL: `${url.origin}/api/v1` }),
  forgejo: (url, segments) => ({ ...ownerAndName(url, segments, 2), apiURL: `${url.origin}/api/v1` }),
  'bitbucket-server': bitbucketServer,
  'bitbucket-cloud': (url, segments) => ({
    ...ownerAndName(url, segments, 2),
    apiURL: url.host === 'bitbucket.org' ? 'https://api.bitbucket.org/2.0' : `${url.origin}/2.0`,
  }),
  'azure-devops': azureDevops,
}

/** The last path segment is the name; `exactly` limits the number of segments. */
function ownerAndName(url: URL, segments: readonly string[], exactly?: number): Omit<RepositoryAddress, 'apiURL'> {
  const isWhole = exactly === undefined ? segments.length >= 2 : segments.length === exactly
  const name = isWhole ? (segments.at(-1) ?? '').replace(/\.git$/, '') : ''
  return { cloneURL: gitUrl(url), owner: segments.slice(0, -1).join('/'), name }
}

/** `/scm/KEY/repo.git`, `/projects/KEY/repos/repo`, with or without a path in front. */
function bitbucketServer(url: URL, segments: readonly string[]): RepositoryAddress | undefined {
  const scm = segments.lastIndexOf('scm')
  const projects = segments.lastIndexOf('projects')
  const [before, owner, name] =
    scm >= 0
      ? [segments.slice(0, scm), segments[scm + 1], segments[scm + 2]]
      : projects >= 0 && segments[projects + 2] === 'repos'
        ? [segments.slice(0, projects), segments[projects + 1], segments[projects + 3]]
        : [[], undefined, undefined]
  if (!owner || !name) return undefined
  const prefix = [url.origin, ...before].join('/')
  const bare = name.replace(/\.git$/, '')
  return { cloneURL: `${prefix}/scm/${owner}/${bare}.git`, apiURL: `${prefix}/rest/api/1.0`, owner, name: bare }
}

/** `/org/project/_git/repo`, or `org.visualstudio.com/project/_git/repo`. */
function azureDevops(url: URL, segments: readonly string[]): RepositoryAddress | undefined {
  const git = segments.indexOf('_git')
  const name = segments[git + 1]
  if (git < 1 || !name) return undefined
  const project = segments[git - 1] ?? ''
  const isOldHost = url.host.endsWith('.visualstudio.com')
  const owner = isOldHost ? url.host.split('.')[0] : segments[git - 2]
  if (!owner) return undefined
  const apiURL = isOldHost ? url.origin : [url.origin, ...segments.slice(0, git - 1).map(encodeURIComponent)].join('/')
  return { cloneURL: `${url.origin}${url.pathname}`, apiURL, owner, name, project }
}

/** Adds `.git`: every forge accepts it, and GitLab redirects without it. */
function gitUrl(url: URL): string {
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path.endsWith('.git') ? path : `${path}.git`}`
}

/** The repository's URL in a browser, from which the API's URL follows. */
function webUrl(type: ForgeType, text: string): URL {
  const url = parseRepositoryURL(text)
  if (!url) throw invalid(text, `is not the URL of a repository: use ${repositoryURLForms}`)
  if (url.over === 'https') return url.url
  return new URL(`https://${webHosts[url.host] ?? url.host.replace(/^(?=.*:)(.*)$/, '[$1]')}/${webPath(type, url)}`)
}

/** SSH hosts whose HTTPS host has another name. */
const webHosts: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
  'ssh.dev.azure.com': 'dev.azure.com',
  'vs-ssh.visualstudio.com': 'dev.azure.com',
}

/** The HTTPS path of an SSH path, where Azure DevOps and Bitbucket Data Center differ. */
function webPath(type: ForgeType, url: Extract<RepositoryURL, { over: 'ssh' }>): string {
  const segments = url.path.split('/').filter((segment) => segment !== '')
  const [version, owner, project, name] = segments
  const isAzure = type === 'azure-devops' && version === 'v3' && segments.length === 4
  const path = isAzure
    ? [owner, project, '_git', name]
    : type === 'bitbucket-server' && segments.length === 2
      ? ['scm', ...segments]
      : segments
  return path.map((segment = '') => encodeURIComponent(segment)).join('/')
}

function invalid(url: string, problem: string): PromotionError {
  return permanent('RequestRefused', `"${url.replace(/\/\/[^/@]*@/, '//')}" ${problem}`)
}
