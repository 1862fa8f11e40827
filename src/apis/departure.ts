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

const spec = object({
  object: object(
    {
      cluster: optional(string({ description: 'The cluster it was in; absent for the one this record is in.' })),
      apiVersion: string(),
      kind: string(),
      namespace: optional(string()),
      name: string(),
      uid: string(),
      resourceVersion: string(),
    },
    { description: 'What left.' },
  ),
  because: string({ description: 'Why, in the deciding system’s own word.' }),
  by: object(
    {
      system: oneOf(['cleaner', 'collector', 'janitor', 'promoter', 'activator', 'user']),
      object: optional(objectReference({ description: 'The object whose rule decided it.' })),
    },
    { description: 'Who decided it.' },
  ),
  recordedAt: time({ description: 'When the record was written: before the delete.' }),
  propagation: optional(oneOf(['Background', 'Foreground', 'Orphan'])),
  manifest: optional(freeObject({ description: 'The object as it was, for a restore. Secret data is left out.' })),
  takes: optional(integer({ minimum: 0, description: 'How many dependents left with it.' })),
  pages: optional(
    integer({ minimum: 0, description: 'How many further records hold the manifests of those dependents.' }),
  ),
  page: optional(
    object(
      {
        of: string({ description: 'The record this is a page of.' }),
        number: integer({ minimum: 1 }),
        manifests: string({ description: 'Manifests of dependents, owners first: one JSON per line, gzip, base64.' }),
      },
      { description: 'Set on a page only.' },
    ),
  ),
})

const status = object({
  phase: optional(oneOf(['Recorded', 'Leaving', 'Gone', 'Abandoned', 'Restored'])),
  goneAt: optional(time()),
  restoredAt: optional(time()),
  message: optional(string()),
  waitingFor: optional(list(string(), { description: 'Finalizers that hold it.' })),
})

/** The record of one object that left, written before it was let go. */
export const departure = defineKind({
  ...sojournGroup,
  kind: 'Departure',
  plural: 'departures',
  scope: 'Namespaced',
  description: 'What left, when, why, by whose rule, and its manifest for a restore.',
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
