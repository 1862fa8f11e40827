import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { listPackageFiles, readPackageFile } from '../../packaging/package-files.ts'
import { describeRef, refOf, type StoredObject } from '../../kube/object.ts'
import type { Route } from '../../runtime/http/route.ts'
import { restoreDeparture } from '../operations/restore.ts'
import { actionRoutes } from './actions.ts'
import { cascadeRoute } from './cascade-route.ts'
import type { PagePorts } from './page-ports.ts'
import { namespacesRoute } from './reads.ts'

/** The dashboard at `/`: static files that hold no data, and what users do there. */
export function dashboardRoutes(ports: PagePorts): readonly Route[] {
  const files = listPackageFiles('ui').filter((file) => extname(file) in mediaTypes)
  return [
    fileRoute('/', 'ui/index.html'),
    ...files.map((file) => fileRoute(`/ui/${file}`, `ui/${file}`)),
    restoreRoute(ports),
    namespacesRoute(ports),
    cascadeRoute(ports),
    ...actionRoutes(ports),
  ]
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const pageHeaders = {
  'cache-control': 'no-cache',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}

function fileRoute(path: string, file: string): Route {
  let page: { readonly plain: Buffer; readonly zipped: Buffer; readonly etag: string } | undefined
  const read = () => {
    const plain = readPackageFile(file)
    return { plain, zipped: gzipSync(plain), etag: `W/"${hash('sha256', plain, 'base64url')}"` }
  }
  return {
    method: 'GET',
    path,
    authenticated: false,
    handle({ headers: { 'if-none-match': known, 'accept-encoding': accepted = '' } }) {
      const { plain, zipped, etag } = (page ??= read())
      const type = mediaTypes[extname(file)] ?? 'text/plain'
      const headers = { ...pageHeaders, 'content-type': type, etag, vary: 'accept-encoding' }
      if (known === etag) return Promise.resolve({ status: 304, headers, body: '' })
      if (!/\bgzip\b/.test(accepted)) return Promise.resolve({ status: 200, headers, body: plain })
      return Promise.resolve({ status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: zipped })
    },
  }
}

/** `POST /sojourn/v1alpha1/departures/NAMESPACE/NAME/restore[?dryRun=true]`: restores a deleted object with the caller's rights. */
function restoreRoute({ clientAs, clock, events }: PagePorts): Route {
  return {
    method: 'POST',
    path: '/sojourn/v1alpha1/departures/:namespace/:name/restore',
    async handle({ params: { namespace = '', name = '' }, query, user }) {
      if (!user) return { status: 401, body: { message: 'authentication required: send a bearer token' } }
      const dryRun = query.dryRun === 'true'
      const options = { now: clock.now(), dryRun }
      const { objects, already, notes } = await restoreDeparture(clientAs(user), { namespace, name }, options)
      const message = `${user.name} restored it on the dashboard, with ${objects.length} objects`
      if (objects[0] && !dryRun) events.record(objects[0], { type: 'Normal', reason: 'UserAction', message })
      const refs = (restored: readonly StoredObject[]) => restored.map((object) => describeRef(refOf(object)))
      return { status: 200, body: { restored: refs(objects), already: refs(already), notes } }
    },
  }
}
