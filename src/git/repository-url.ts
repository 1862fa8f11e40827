/** Where a repository is, as git reads its address. */
export type RepositoryURL =
  | { readonly over: 'https'; readonly host: string; readonly url: URL }
  | { readonly over: 'ssh'; readonly host: string; readonly port: number; readonly user: string; readonly path: string }

/** What the address of a repository may look like, in words. */
export const repositoryURLForms = 'https://host/path, ssh://user@host/path or user@host:path'

/** Reads an address; undefined when it is none that git could be spoken with safely. */
export function parseRepositoryURL(text: string): RepositoryURL | undefined {
  return URL.canParse(text) ? withScheme(new URL(text)) : likeScp(text)
}

function withScheme(url: URL): RepositoryURL | undefined {
  if (url.password !== '' || url.hostname === '') return undefined
  if (url.protocol === 'https:') return url.username === '' ? { over: 'https', host: url.host, url } : undefined
  if (url.protocol !== 'ssh:') return undefined
  const path = decoded(url.pathname)
  if (path === undefined || path.length < 2) return undefined
  return {
    over: 'ssh',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase(),
    port: url.port === '' ? 22 : Number(url.port),
    user: decoded(url.username) || 'git',
    // As git does it: a home directory is not below the root.
    path: path.startsWith('/~') ? path.slice(1) : path,
  }
}

function likeScp(text: string): RepositoryURL | undefined {
  const [, user = '', host = '', path = ''] = /^([^\s/@:]+)@([^\s/@:[\]]+):(\S+)$/.exec(text) ?? []
  return path === '' ? undefined : { over: 'ssh', host: host.toLowerCase(), port: 22, user, path }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
