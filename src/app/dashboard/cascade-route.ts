import { placeOf, type ObjectRef, type StoredObject } from '../../kube/object.ts'
import { jsonBody, type Route } from '../../runtime/http/route.ts'
import type { Preview } from '../../systems/collector/preview/preview.ts'
import type { PagePorts } from './page-ports.ts'
import { Turns } from './turns.ts'

type Wanted = { readonly object: ObjectRef & { readonly uid?: string }; readonly policy: Preview['policy'] }

/** More than a page draws; `total` counts all. */
const maxNodes = 2000

/**
 * `POST /sojourn/v1alpha1/cascade-preview {object, policy}`: what would be deleted with an object, from what the caller may read, as
 * `sojourn cascade` says. Changes nothing.
 */
export function cascadeRoute({ clientAs, clock }: Pick<PagePorts, 'clientAs' | 'clock'>): Route {
  const turns = new Turns('a preview')
  return {
    method: 'POST',
    path: '/sojourn/v1alpha1/cascade-preview',
    async handle({ body, user }) {
      if (!user) return { status: 401, body: { message: 'authentication required: send a bearer token' } }
      const wanted = parse(body)
      if (typeof wanted === 'string') return { status: 400, body: { message: wanted } }
      const { object, policy } = wanted
      return turns.take(user, async () => {
        const client = clientAs(user)
        const type = await client.discovery.typeOf(object)
        if (!type) return { status: 404, body: { message: `the cluster does not serve ${object.kind}` } }
        const root = await client.get<StoredObject>(type, placeOf(object))
        if (object.uid !== undefined && root.metadata.uid !== object.uid)
          return { status: 409, body: { message: `${object.name} was created anew meanwhile: look at it again` } }
        const { previewCascade } = await import('../../queries/cascade.ts')
        const { nodes, ...found } = await previewCascade(client, root, { policy, now: clock.now() })
        const shown = Array.from({ length: Math.min(nodes.length, maxNodes) }, (_, line) => nodes.at(line))
        return { status: 200, body: { ...found, nodes: shown, total: nodes.length, leaving: nodes.leaving } }
      })
    },
  }
}

function parse(body: string): Wanted | string {
  const { object, policy = 'Background' } = (jsonBody(body) ?? {}) as { object?: unknown; policy?: unknown }
  const { apiVersion, kind, name, namespace = '', uid = '' } = (object ?? {}) as Readonly<Record<string, unknown>>
  // They become parts of paths.
  if (![apiVersion, kind, name].every((text) => typeof text === 'string' && /^[\w.:/-]+$/.test(text)))
    return 'object must have apiVersion, kind and name'
  if (typeof namespace !== 'string' || typeof uid !== 'string') return 'namespace and uid of object must be texts'
  if (policy !== 'Background' && policy !== 'Foreground' && policy !== 'Orphan')
    return 'policy must be Background, Foreground or Orphan'
  const ref = { apiVersion, kind, name, ...(namespace && { namespace }), ...(uid && { uid }) } as Wanted['object']
  return { object: ref, policy }
}
