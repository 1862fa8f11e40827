import { percentDecoded } from '../kube/basics/percent-decoded.ts'

/** The parsed URL of a repository. */
export type RepositoryURL =
  | { readonly over: 'https'; readonly host: string; readonly url: URL }
  | { readonly over: 'ssh'; readonly host: string; readonly port: number; readonly user: string; readonly path: string }

/** The accepted forms of a repository's URL, for messages. */
export const repositoryURLForms = 'https://host/path, ssh://user@host/path or user@host:path'

/** Parses a repository's URL; undefined unless it is HTTPS or SSH without a password. */
export function parseRepositoryURL(text: string): RepositoryURL | undefined {
  return URL.canParse(text) ? parseURL(new URL(text)) : parseScpForm(text)
}

function parseURL(url: URL): RepositoryURL | undefined {
  if (url.password !== '' || url.hostname === '') return undefined
  if (url.protocol === 'https:') return url.username === '' ? { over: 'https', host: url.host, url } : undefined
  if (url.protocol !== 'ssh:') return undefined
  const path = percentDecoded(url.pathname)
  if (path === undefined || path.length < 2) return undefined
  return {
    over: 'ssh',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase(),
    port: url.port === '' ? 22 : Number(url.port),
    user: percentDecoded(url.username) || 'git',
    // Like git, read `/~user` as a home directory.
    path: path.startsWith('/~') ? path.slice(1) : path,
  }
}

function parseScpForm(text: string): RepositoryURL | undefined {
  const [, user = '', host = '', path = ''] = /^([^\s/@:]+)@([^\s/@:[\]]+):(\S+)$/.exec(text) ?? []
  return path === '' ? undefined : { over: 'ssh', host: host.toLowerCase(), port: 22, user, path }
}
