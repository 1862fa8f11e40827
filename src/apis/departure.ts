import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { freeObject, integer, list, object, objectReference, oneOf, string, time, type Static } from './schema.ts'

const spec = object('The deletion, as recorded before it was requested.', {
  object: object('The deleted object.', {
    'cluster?': string('GitopsCluster of the object, as namespace.name; absent for the local cluster.'),
    apiVersion: string('API group and version of the object.'),
    kind: string('Kind of the object.'),
    'namespace?': string('Namespace of the object; absent for cluster-scoped kinds.'),
    name: string('Name of the object.'),
    uid: string('UID of the object.'),
    resourceVersion: string('Resource version of the object when the record was written.'),
  }),
  because: string('Why the object was deleted, as a machine-readable word of the deciding system.'),
  'note?': string('What the deciding system found and did not find, as a sentence.'),
  by: object('What decided the deletion.', {
    system: oneOf('System that decided the deletion, or user for a request of a user.', [
      'cleaner',
      'collector',
      'janitor',
      'promoter',
      'activator',
      'environments',
      'user',
    ]),
    'object?': objectReference('Object whose rules the system followed, such as a Cleaner.'),
  }),
  recordedAt: time('When the record was written, which is before the object is deleted.'),
  'propagation?': oneOf('Propagation policy of the deletion.', ['Background', 'Foreground', 'Orphan']),
  'manifest?': freeObject('The object before its deletion, for a restore. Without the data of Secrets.'),
  'sealed?': object('The data of the Secret, encrypted, if records keep it (--record-secrets).', {
    key: string('Name of the key in Secret sojourn-record-keys of sojourn-system.'),
    data: string('The encrypted data: AES-256-GCM, base64url.'),
  }),
  'takes?': integer('Number of dependents deleted with the object.', { minimum: 0 }),
  'pages?': integer('Number of DeparturePages that hold the manifests of those dependents.', { minimum: 0 }),
  'page?': object(
    'Set only if this Departure is a page with manifests of dependents, as version 0.1.0 wrote them. DeparturePages took their place.',
    {
      of: string('Name of the Departure that this page belongs to.'),
      number: integer('Number of this page, from 1.', { minimum: 1 }),
      manifests: string('Manifests of dependents, owners first: one JSON document per line, gzip, base64.'),
    },
  ),
})

const status = object({
  'phase?': oneOf(
    'Recorded: the deletion is about to be requested. Leaving: the object waits for its finalizers. Gone: it no longer exists. Abandoned: it was not deleted. Restored: it was created again from this record.',
    ['Recorded', 'Leaving', 'Gone', 'Abandoned', 'Restored'],
  ),
  'goneAt?': time('When the object was found to be gone.'),
  'restoredAt?': time('When the object was restored.'),
  'message?': string('Explanation of the phase.'),
  'waitingFor?': list('Finalizers that delay the deletion.', string()),
})

/** The record of one deleted object, written before its deletion is requested. */
export const departure = defineOwnKind({
  kind: 'Departure',
  scope: 'Namespaced',
  description: 'Records a deleted object: what, when, why, on whose behalf, and its manifest for a restore.',
  spec,
  status,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.object.kind' },
    { name: 'Object', type: 'string', jsonPath: '.spec.object.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Because', type: 'string', jsonPath: '.spec.because' },
    { name: 'By', type: 'string', jsonPath: '.spec.by.system' },
    { name: 'With', type: 'integer', jsonPath: '.spec.takes', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type Departure = ObjectOf<typeof departure>
export type DepartureSpec = Static<typeof spec>
