import { isRecord } from '../../kube/basics/json.ts'
import type { StoredObject } from '../../kube/object.ts'
import { jsonBody, type Route } from '../../runtime/http/route.ts'
import type { PagePorts } from './page-ports.ts'

const name = '[a-z0-9][a-z0-9.-]*'
/** What the pages change: their writes pass here, everything else is kubectl's. */
const writable = new RegExp(
  `^(?:${[
    `PATCH /apis/sojourn.dev/v1alpha1/namespaces/${name}/environments/${name}`,
    `POST /apis/sojourn.dev/v1alpha1/namespaces/${name}/approvals`,
    `POST /apis/sojourn.dev/v1alpha1/cleanupoptouts`,
    `PATCH /apis/sojourn.dev/v1alpha1/cleanupoptouts/${name}`,
    `POST /api/v1/namespaces/sojourn-system/configmaps`,
    `PATCH /api/v1/namespaces/sojourn-system/configmaps/sojourn-door`,
    `PATCH /apis/apps/v1/namespaces/${name}/(?:deployments|statefulsets)/${name}`,
    `DELETE /api/v1/namespaces/${name}`,
  ].join('|')})$`,
)
const verbs = { POST: 'created', PATCH: 'changed', DELETE: 'deleted' } as const

/** `POST|PATCH|DELETE /act/apis/…`: a write to the Kubernetes API with the rights of the user, which leaves an Event with the user's name. */
export function actionRoutes({ clientAs, events }: PagePorts): readonly Route[] {
  return (['POST', 'PATCH', 'DELETE'] as const).map((method) => ({
    method,
    path: /^\/act\/apis?\/.*/,
    // The API server authorizes the write itself.
    authenticated: false,
    async handle({ url, body: text, headers, user }) {
      const path = (url.split('?')[0] ?? '').slice('/act'.length)
      if (!user) return { status: 401, body: { message: 'Sign in first.' } }
      if (!writable.test(`${method} ${path}`))
        return { status: 403, body: { message: `The dashboard does not ${method} ${path}.` } }
      const body = text === '' ? undefined : jsonBody(text)
      const request = { method, path, headers: { 'content-type': headers['content-type'] ?? 'application/json' }, body }
      const written = await clientAs(user).request(request)
      const object = written.body as StoredObject
      const changes = method === 'DELETE' ? '' : [...changesIn(body).take(10)].join(', ')
      const message = `${user.name} ${verbs[method]} it on the dashboard${changes ? `: ${changes}` : ''}`
      events.record(object, { type: 'Normal', reason: 'UserAction', message })
      return { status: written.status, body: object }
    },
  }))
}

/** `spec.power=Asleep`, for each field that a body sets. */
function* changesIn(value: unknown, path = ''): Generator<string, void, undefined> {
  if (!isRecord(value)) return yield `${path.slice(0, 100)}=${String(value as string).slice(0, 100)}`
  for (const [field, inner] of Object.entries(value)) {
    const isShown =
      path === '' ? ['spec', 'data', 'metadata'].includes(field) : path !== 'metadata' || field === 'annotations'
    if (isShown) yield* changesIn(inner, path === '' ? field : `${path}.${field}`)
  }
}
