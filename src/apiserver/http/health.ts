import { tableRelease } from '../schema/types/type-table.ts'
import { json, text, type Answer } from './response/answer.ts'
import type { PathHandler } from './edge.ts'

/** Whether a path is served without credentials. */
export function isPublicPath(path: string): boolean {
  return publicPaths.has(path) || /^\/(healthz|livez|readyz)\/[a-z]+$/.test(path)
}

/** Serves health checks and `/version`. `isReady` is false while the server starts and stops. */
export function healthPaths(isReady: () => boolean): PathHandler {
  return ({ query, method }, path) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    switch (path) {
      case '/healthz':
      case '/livez':
        return health(path.slice(1), { ping: true }, query)
      case '/readyz':
        return health('readyz', { ping: true, started: isReady() }, query)
      case '/healthz/ping':
      case '/livez/ping':
      case '/readyz/ping':
        return text('ok')
      case '/version':
      case '/version/':
        return json(versionInfo())
      default:
        return undefined
    }
  }
}

const publicPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

function health(
  name: string,
  checks: Readonly<Record<string, boolean>>,
  query: Readonly<Record<string, string>>,
): Answer {
  const lines = Object.entries(checks).map(
    ([check, isFine]) => `[${isFine ? '+' : '-'}]${check} ${isFine ? 'ok' : 'failed'}`,
  )
  const isHealthy = Object.values(checks).every(Boolean)
  const long = `${lines.join('\n')}\n${name} check ${isHealthy ? 'passed' : 'failed'}\n`
  if (!isHealthy) return text(long, 503)
  return text(query['verbose'] === undefined ? 'ok' : long)
}

/** The answer of `/version`: the Kubernetes release whose API this server implements. */
export function versionInfo(): Readonly<Record<string, string>> {
  const gitVersion = tableRelease()
  const [, major = '1', minor = '0'] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? []
  return {
    major,
    minor,
    gitVersion: `${gitVersion}+sojourn`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'none',
    platform: 'node',
  }
}
