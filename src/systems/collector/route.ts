import type { ObjectRef } from '../../kube/object.ts'
import type { Route, RouteResponse, RouteUser } from '../../runtime/http/route.ts'
import type { Collector } from './controller.ts'
import type { Preview } from './preview/preview.ts'
import type { PreviewNode } from './preview/preview-nodes.ts'

/** What a caller may read: an object of this kind in this namespace, or everything if no object is given. */
export type MayGet = (
  user: RouteUser,
  object?: Pick<ObjectRef, 'apiVersion' | 'kind' | 'namespace'>,
) => Promise<boolean>

/**
 * `POST /sojourn/v1alpha1/cascade-preview {uid, policy}`: what would be deleted with an object, by the running collector. Changes
 * nothing, and names only objects that the caller may read; `hidden` counts the others.
 */
export function cascadeRoute(collector: Pick<Collector, 'preview'>, mayGet: MayGet): Route {
  return {
    method: 'POST',
    path: '/sojourn/v1alpha1/cascade-preview',
    async handle({ body, user }) {
      const request = parse(body)
      if (typeof request === 'string') return { status: 400, body: { message: request } }
      const unknown = { status: 404, body: { message: `no object with uid ${request.uid} is known` } }
      const found = collector.preview(request.uid, request.policy)
      if (!found || !user) return unknown
      if (await mayGet(user)) return { status: 200, body: found }
      // A caller who may not read the object must not learn that it exists.
      const shown = await visibleNodes(found, (node) => mayGet(user, node.ref))
      return shown[0]?.uid === request.uid ? answer(found, shown) : unknown
    },
  }
}

function answer(found: Preview, nodes: readonly PreviewNode[]): RouteResponse {
  return { status: 200, body: { ...found, nodes, hidden: found.nodes.length - nodes.length } }
}

/** Asks once for each kind and namespace. */
async function visibleNodes(
  { nodes }: Preview,
  isVisible: (node: PreviewNode) => Promise<boolean>,
): Promise<readonly PreviewNode[]> {
  const known = new Map<string, boolean>()
  const visible: PreviewNode[] = []
  for (const node of nodes) {
    const { apiVersion, kind, namespace = '' } = node.ref
    const key = JSON.stringify([apiVersion, kind, namespace])
    const allowed = known.get(key) ?? (await isVisible(node))
    known.set(key, allowed)
    if (allowed) visible.push(node)
  }
  return visible
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
