import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import {
  freeObject,
  integer,
  list,
  object,
  objectReference,
  oneOf,
  optional,
  string,
  time,
  type Static,
} from './schema.ts'

const spec = object(
  {
    object: object(
      {
        cluster: optional(
          string({ description: 'GitopsCluster of the object, as namespace.name; absent for the local cluster.' }),
        ),
        apiVersion: string({ description: 'API group and version of the object.' }),
        kind: string({ description: 'Kind of the object.' }),
        namespace: optional(string({ description: 'Namespace of the object; absent for cluster-scoped kinds.' })),
        name: string({ description: 'Name of the object.' }),
        uid: string({ description: 'UID of the object.' }),
        resourceVersion: string({ description: 'Resource version of the object when the record was written.' }),
      },
      { description: 'The deleted object.' },
    ),
    because: string({ description: 'Why the object was deleted, as a machine-readable word of the deciding system.' }),
    note: optional(string({ description: 'What the deciding system found and did not find, as a sentence.' })),
    by: object(
      {
        system: oneOf(['cleaner', 'collector', 'janitor', 'promoter', 'activator', 'environments', 'user'], {
          description: 'System that decided the deletion, or user for a request of a user.',
        }),
        object: optional(
          objectReference({ description: 'Object whose rules the system followed, such as a Cleaner.' }),
        ),
      },
      { description: 'What decided the deletion.' },
    ),
    recordedAt: time({ description: 'When the record was written, which is before the object is deleted.' }),
    propagation: optional(
      oneOf(['Background', 'Foreground', 'Orphan'], { description: 'Propagation policy of the deletion.' }),
    ),
    manifest: optional(
      freeObject({ description: 'The object before its deletion, for a restore. Without the data of Secrets.' }),
    ),
    takes: optional(integer({ minimum: 0, description: 'Number of dependents deleted with the object.' })),
    pages: optional(
      integer({ minimum: 0, description: 'Number of further Departures that hold the manifests of those dependents.' }),
    ),
    page: optional(
      object(
        {
          of: string({ description: 'Name of the Departure that this page belongs to.' }),
          number: integer({ minimum: 1, description: 'Number of this page, from 1.' }),
          manifests: string({
            description: 'Manifests of dependents, owners first: one JSON document per line, gzip, base64.',
          }),
        },
        { description: 'Set only if this Departure is a page with manifests of dependents.' },
      ),
    ),
  },
  { description: 'The deletion, as recorded before it was requested.' },
)

const status = object({
  phase: optional(
    oneOf(['Recorded', 'Leaving', 'Gone', 'Abandoned', 'Restored'], {
      description:
        'Recorded: the deletion is about to be requested. Leaving: the object waits for its finalizers. Gone: it no longer exists. Abandoned: it was not deleted. Restored: it was created again from this record.',
    }),
  ),
  goneAt: optional(time({ description: 'When the object was found to be gone.' })),
  restoredAt: optional(time({ description: 'When the object was restored.' })),
  message: optional(string({ description: 'Explanation of the phase.' })),
  waitingFor: optional(list(string(), { description: 'Finalizers that delay the deletion.' })),
})

/** The record of one deleted object, written before its deletion is requested. */
export const departure = defineKind({
  ...sojournGroup,
  kind: 'Departure',
  plural: 'departures',
  scope: 'Namespaced',
  description: 'Records a deleted object: what, when, why, on whose behalf, and its manifest for a restore.',
  categories: ['sojourn'],
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
