import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import {
  conditions,
  integer,
  labelSelector,
  list,
  object,
  oneOf,
  optional,
  serviceAccountName,
  string,
  type Static,
} from './schema.ts'

const spec = object({
  serviceAccountName,
  dependent: object(
    {
      apiVersion: string({ minLength: 1 }),
      kind: string({ minLength: 1 }),
      name: optional(string({ minLength: 1 })),
      selector: optional(
        labelSelector({ description: 'All objects of the kind with these labels, instead of one by name.' }),
      ),
    },
    { description: 'What needs something, in this Bond’s own namespace (or cluster-scoped).' },
  ),
  dependency: object(
    {
      cluster: optional(string({ description: 'The cluster it is in; absent for this one.' })),
      apiVersion: string({ minLength: 1 }),
      kind: string({ minLength: 1 }),
      namespace: optional(string({ description: 'Defaults to this Bond’s namespace for namespaced kinds.' })),
      name: string({ minLength: 1 }),
      uid: optional(
        string({ description: 'Only this very object; without it, the first one found is pinned in the status.' }),
      ),
    },
    {
      description: 'What is needed. It cannot be changed: the uid that was pinned is of this one.',
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'cannot be changed: make another Bond, then delete this one' },
      ],
    },
  ),
  onDelete: oneOf(['Cascade', 'Orphan', 'Hold', 'Deny'], {
    default: 'Cascade',
    description:
      'When the dependency goes: take the dependent along, let it stay, make the dependency wait for it, or refuse.',
  }),
  reason: optional(string({ maxLength: 1024, description: 'Shown to whom it stops.' })),
})

const status = object({
  phase: optional(oneOf(['Pending', 'Active', 'Broken', 'Released'])),
  dependencyUid: optional(string({ description: 'The pinned dependency.' })),
  dependencyNamespace: optional(string({ description: 'The namespace it is in, or is; absent for what has none.' })),
  dependencyCluster: optional(
    string({ description: 'The id of the cluster it is in, where that is another: the uid of kube-system there.' }),
  ),
  dependents: optional(integer({ minimum: 0, description: 'How many objects it binds.' })),
  dependentUids: optional(list(string())),
  conditions: optional(conditions()),
})

/** This object needs that one, across namespaces and clusters. */
export const bond = defineKind({
  ...sojournGroup,
  kind: 'Bond',
  plural: 'bonds',
  scope: 'Namespaced',
  description: 'This object needs that one, across namespaces and clusters: cascade, hold or deny.',
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Dependent', type: 'string', jsonPath: '.spec.dependent.kind' },
    { name: 'Dependency', type: 'string', jsonPath: '.spec.dependency.kind' },
    { name: 'Name', type: 'string', jsonPath: '.spec.dependency.name' },
    { name: 'On delete', type: 'string', jsonPath: '.spec.onDelete' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type Bond = ObjectOf<typeof bond>
export type BondSpec = Static<typeof spec>

/** Put on what a Bond needs, so that it waits for those who need it. */
export const holdFinalizer = 'sojourn.dev/cascade-deletion'
/** The seed's own word for it, which the embedded server sets on DELETE. */
export const seedFinalizer = 'cascade_deletion'
/** Put on a Bond, so that it protects until what needs something is really gone. */
export const bondFinalizer = 'sojourn.dev/bond'
/** On a namespace (or a cluster-scoped object): the Bonds of which namespaces, or `CLUSTER/NAMESPACE` of other clusters, may hold up deletions here. */
export const grantAnnotation = 'sojourn.dev/allow-bonds-from'
/** On what a Bond refuses to let go, and on its namespace: an admission policy refuses the DELETE. */
export const inUseLabel = 'sojourn.dev/in-use'
/** Which Bonds say so, for the one who is refused. */
export const inUseAnnotation = 'sojourn.dev/in-use-by'
/** The policy by which a cluster refuses the deletion of what is in use. */
export const inUsePolicy = 'sojourn-in-use'
