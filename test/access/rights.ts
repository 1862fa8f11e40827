import type { Client } from '../../src/client/client.ts'
import type { ResourceType, StoredObject } from '../../src/kube/object.ts'

/** One verb on one resource, in one namespace or everywhere. */
export interface Right {
  /** `sojourn.dev/bonds/status update` */
  readonly what: string
  /** Absent: everywhere. */
  readonly namespace?: string
}

/** One request, as the API server saw it. */
export interface Request {
  readonly what: string
  /** Absent: in all namespaces, or what has none. */
  readonly namespace: string | undefined
  readonly isAllowed: boolean
}

/** Rights that no request needed: each is to be taken away, or narrowed, or given a case. */
export function unusedOf(rights: readonly Right[], requests: readonly Request[], home: string): readonly string[] {
  const used = (right: Right) => requests.some((request) => request.isAllowed && needs(request, right, home))
  return [...new Set(rights.filter((right) => !used(right)).map(describe))].toSorted()
}

/** What was refused: each is a right that is missing. */
export function refusedOf(requests: readonly Request[]): readonly string[] {
  const refused = requests.filter(({ isAllowed }) => !isAllowed)
  return [...new Set(refused.map(({ what, namespace }) => describe({ what, ...(namespace ? { namespace } : {}) })))]
}

/** A right for all namespaces is only needed by somebody who goes beyond our own. */
function needs({ what, namespace }: Request, right: Right, home: string): boolean {
  const isSame = right.what === what || right.what === listFor(what)
  return isSame && (right.namespace === undefined ? namespace !== home : namespace === right.namespace)
}

/** A cache begins with a watch that tells it everything, and with a list where a server cannot do that. */
function listFor(what: string): string | undefined {
  return what.endsWith(' watch') ? what.replace(/ watch$/, ' list') : undefined
}

function describe({ what, namespace }: Right): string {
  return namespace === undefined ? what : `${what} in ${namespace}`
}

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly verbs: readonly string[]
}
type Role = StoredObject & { readonly rules?: readonly Rule[] }
type Binding = StoredObject & {
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly name: string }[]
}

/** Everything an account is granted by what was installed; what an administrator adds for targets is not ours. */
export async function rightsOf(client: Client, account: string): Promise<readonly Right[]> {
  const lists = await Promise.all(
    [type('ClusterRole', false), type('Role', true)].map((each) => client.list<Role>(each).then(({ items }) => items)),
  )
  const roles = lists.flat()
  const bindings = await Promise.all(
    [type('ClusterRoleBinding', false), type('RoleBinding', true)].map((each) =>
      client.list<Binding>(each).then(({ items }) => items),
    ),
  )
  return bindings
    .flat()
    .filter(({ subjects = [], roleRef }) => subjects.some(({ name }) => name === account) && !isTargets(roleRef.name))
    .flatMap(({ metadata: { namespace }, roleRef }) => {
      const home = roleRef.kind === 'Role' ? namespace : undefined
      const role = roles.find(({ metadata }) => metadata.name === roleRef.name && metadata.namespace === home)
      return (role?.rules ?? []).flatMap(wordsOf).map((what) => ({ what, ...(namespace ? { namespace } : {}) }))
    })
}

function isTargets(role: string): boolean {
  return role.endsWith('-targets')
}

function wordsOf({ apiGroups = [], resources = [], verbs }: Rule): readonly string[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
  )
}

function type(kind: string, namespaced: boolean): ResourceType {
  return { group: 'rbac.authorization.k8s.io', version: 'v1', kind, plural: `${kind.toLowerCase()}s`, namespaced }
}
