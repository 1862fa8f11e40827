import type { Route } from '../../runtime/http/route.ts'
import type { Collector } from './controller.ts'
import type { Preview } from './preview/preview.ts'

/** `POST /sojourn/v1alpha1/cascade-preview {uid, policy}`: what would be deleted with an object, from the graph of the running collector. Changes nothing. */
export function cascadeRoute(collector: Pick<Collector, 'preview'>): Route {
  return {
    method: 'POST',
    path: '/sojourn/v1alpha1/cascade-preview',
    handle({ body }) {
      const request = parse(body)
      if (typeof request === 'string') return Promise.resolve({ status: 400, body: { message: request } })
      const found = collector.preview(request.uid, request.policy)
      if (!found)
        return Promise.resolve({ status: 404, body: { message: `no object with uid ${request.uid} is known` } })
      return Promise.resolve({ status: 200, body: found })
    },
  }
}

function parse(body: string): { readonly uid: string; readonly policy: Preview['policy'] } | string {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return 'the body must be JSON'
  }
  const { uid, policy = 'Background' } = (value ?? {}) as { uid?: unknown; policy?: unknown }
  if (typeof uid !== 'string' || uid === '') return 'uid must be the uid of an object'
  if (policy !== 'Background' && policy !== 'Foreground' && policy !== 'Orphan')
    return 'policy must be Background, Foreground or Orphan'
  return { uid, policy }
}
