import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import type { Logger } from '../../runtime/observability/log.ts'

/**
 * Sends only reads and reviews. Every write is logged instead, once for each content, and answered as if it had been made:
 * a dry run beside an installation changes nothing in the cluster, statuses, Events and Leases included.
 */
export function observingTransport(transport: Transport, log: Logger): Transport {
  const told = new BoundedMap<string, string>(10_000)
  return async (request) => {
    const { method, path, body } = request
    if (method === 'GET' || isReview(path)) return transport(request)
    const content = JSON.stringify(body) ?? ''
    if (!isQuiet(path) && told.get(`${method} ${path}`) !== content) {
      told.set(`${method} ${path}`, content)
      log.info('dry run: not written', { method, path, ...messageOf(body) })
    }
    if (method !== 'PATCH') return { status: method === 'POST' ? 201 : 200, headers: {}, body: withIdentity(body) }
    const current = await transport({ ...readOf(request), method: 'GET', path: path.replace(/\/status$/, '') })
    return current.status === 404 ? { ...current, status: 200, body: withIdentity(body) } : current
  }
}

/** Questions about rights are asked by POST. */
function isReview(path: string): boolean {
  return /^\/apis\/(authorization|authentication)\.k8s\.io\//.test(path)
}

/** Events repeat what statuses say. */
function isQuiet(path: string): boolean {
  return /\/events(\/|$)/.test(path)
}

function readOf({ signal }: ApiRequest): Pick<ApiRequest, 'signal'> {
  return signal ? { signal } : {}
}

/** What the `Ready` condition of a status would say. */
function messageOf(body: unknown): { readonly ready?: string; readonly reason?: string; readonly says?: string } {
  const { status } = (body ?? {}) as { status?: { conditions?: readonly Record<string, string>[] } }
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (!ready) return {}
  return { ready: ready['status'] ?? '', reason: ready['reason'] ?? '', says: ready['message'] ?? '' }
}

function withIdentity(body: unknown): unknown {
  const object = (body ?? {}) as { readonly metadata?: Readonly<Record<string, unknown>> }
  return { ...object, metadata: { uid: 'dry-run', resourceVersion: '0', ...object.metadata } }
}
