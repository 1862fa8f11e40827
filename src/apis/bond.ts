import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import {
  health,
  integer,
  labelSelector,
  list,
  object,
  oneOf,
  serviceAccountName,
  string,
  type Static,
} from './schema.ts'

const spec = object({
  ...serviceAccountName,
  dependent: object('The objects that need the dependency: in the namespace of the Bond, or cluster-scoped.', {
    apiVersion: string('API group and version of the dependent, such as apps/v1.', { minLength: 1 }),
    kind: string('Kind of the dependent, such as Deployment.', { minLength: 1 }),
    'name?': string('Name of the dependent. Set either name or selector.', { minLength: 1 }),
    'selector?': labelSelector('Selects several dependents of the kind by label, instead of one by name.'),
  }),
  dependency: object(
    'The object that the dependents need. Immutable, because the status stores its UID.',
    {
      'cluster?': string('GitopsCluster of the dependency, as namespace.name. Default: the local cluster.'),
      apiVersion: string('API group and version of the dependency, such as v1.', { minLength: 1 }),
      kind: string('Kind of the dependency, such as PersistentVolumeClaim.', { minLength: 1 }),
      'namespace?': string('Namespace of the dependency. Default: the namespace of the Bond.'),
      name: string('Name of the dependency.', { minLength: 1 }),
      'uid?': string('UID of the dependency. Default: the first object found; its UID is stored in the status.'),
    },
    {
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'cannot be changed: make another Bond, then delete this one' },
      ],
    },
  ),
  onDelete: oneOf(
    'What happens when the dependency is deleted. Cascade: the dependents are deleted too. Orphan: they stay. Hold: the deletion waits until the dependents are gone. Deny: the deletion is rejected.',
    ['Cascade', 'Orphan', 'Hold', 'Deny'],
    { default: 'Cascade' },
  ),
  'reason?': string('Shown to users whose deletion is rejected or held.', { maxLength: 1024 }),
})

const status = object({
  'phase?': oneOf(
    'Pending: not in force yet; the Ready condition says why. Active: in force. Broken: the dependency is gone and the dependents are being deleted. Released: no longer in force.',
    ['Pending', 'Active', 'Broken', 'Released'],
  ),
  'dependencyUid?': string('UID of the dependency that was found.'),
  'dependencyNamespace?': string(
    'Namespace of the dependency, or its name if it is a Namespace; absent for other cluster-scoped kinds.',
  ),
  'dependencyCluster?': string('ID of the remote cluster of the dependency: the UID of its kube-system namespace.'),
  'dependents?': integer('Number of dependents found.', { minimum: 0 }),
  'dependentUids?': list('UIDs of the dependents found.', string()),
  ...health,
})

/** Declares that objects need another one, across namespaces and clusters. */
export const bond = defineOwnKind({
  kind: 'Bond',
  scope: 'Namespaced',
  description:
    'Declares that objects need another one, in any namespace or cluster, and what happens when it is deleted.',
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

/** Finalizer on the dependency of a Hold Bond: its deletion waits for the dependents. */
export const holdFinalizer = 'sojourn.dev/cascade-deletion'
/** Krake's name for the same finalizer, which the embedded server adds on DELETE. */
export const seedFinalizer = 'cascade_deletion'
/** Finalizer on a Bond: it protects its dependency until the dependents are gone. */
export const bondFinalizer = 'sojourn.dev/bond'
/**
 * On a namespace or a cluster-scoped object: the namespaces (`CLUSTER/NAMESPACE` for other clusters) whose Bonds may hold
 * or deny deletions here, separated by commas.
 */
export const grantAnnotation = 'sojourn.dev/allow-bonds-from'
/** On the dependency of a Deny Bond and on its namespace: an admission policy rejects their DELETE. */
export const inUseLabel = 'sojourn.dev/in-use'
/** The Bonds that deny the deletion, for the rejection message. */
export const inUseAnnotation = 'sojourn.dev/in-use-by'
/** Name of the ValidatingAdmissionPolicy that rejects the deletion of objects in use. */
export const inUsePolicy = 'sojourn-in-use'
/** cli-utils' annotation: what an object needs, as references separated by commas. */
export const dependsOnAnnotation = 'config.kubernetes.io/depends-on'
