import { parseApiVersion, type KubeObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { bootstrapPolicy } from '../auth/bootstrap-roles.ts'
import type { Kinds } from '../kinds/kinds.ts'
import type { Objects } from '../objects/objects.ts'
import type { Store } from '../store/store.ts'
import { asSystem } from './ports.ts'
import { syntheticNode } from './synthetic-node.ts'

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

/** What bootstrapping needs. */
export interface BootstrapOptions {
  readonly store: Store
  readonly objects: Objects
  readonly kinds: Kinds
  readonly now: number
  /** Name of the synthetic Node; none is created without it. */
  readonly nodeName?: string
}

/**
 * Creates the objects every server starts with: namespaces, RBAC policy and the synthetic Node. Existing ones are
 * kept.
 */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const { nodeName, now } = options
  await Promise.all([
    ...namespaces.map((name) => ensure(options, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...bootstrapPolicy().map((object) => ensure(options, object)),
    ...(nodeName ? [ensureNode(options, syntheticNode(nodeName, now))] : []),
  ])
}

async function ensure({ store, objects, kinds }: BootstrapOptions, object: KubeObject): Promise<boolean> {
  const type = kinds.ofKind({ ...parseApiVersion(object.apiVersion), kind: object.kind })
  if (!type) throw new Error(`${object.apiVersion} ${object.kind} is not served`)
  if (store.get({ resource: type.resource, namespace: '', name: object.metadata.name ?? '' })) return false
  const created = await objects.create({ type, ...asSystem, body: object }).catch(ignoring('AlreadyExists'))
  return created !== undefined
}

/** Creates the Node, then writes its status: a create ignores status. */
async function ensureNode(options: BootstrapOptions, node: KubeObject): Promise<void> {
  if (!(await ensure(options, node))) return
  const type = options.kinds.ofKind({ group: '', version: 'v1', kind: 'Node' })
  if (!type) return
  await options.objects.patch({
    type,
    name: node.metadata.name ?? '',
    subresource: 'status',
    ...asSystem,
    patchType: 'merge',
    body: { status: node.status },
  })
}
