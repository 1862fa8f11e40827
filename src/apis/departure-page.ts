import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { integer, object, string } from './schema.ts'

/** A page of a Departure. A kind of its own, so that `kubectl get departures` lists deletions only. */
export const departurePage = defineKind({
  ...sojournGroup,
  kind: 'DeparturePage',
  plural: 'departurepages',
  scope: 'Namespaced',
  description: 'Holds the manifests of objects that were deleted with the object of a Departure.',
  spec: object('The page, as written before its objects were deleted.', {
    of: string('Name of the Departure that this page belongs to.'),
    number: integer('Number of this page, from 1.', { minimum: 1 }),
    manifests: string('Manifests of dependents, owners first: one JSON document per line, gzip, base64.'),
  }),
  status: object({}),
  columns: [
    { name: 'Departure', type: 'string', jsonPath: '.spec.of' },
    { name: 'Page', type: 'integer', jsonPath: '.spec.number' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type DeparturePage = ObjectOf<typeof departurePage>
