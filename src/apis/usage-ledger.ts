import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { integer, mapOf, object, string, time, type Static } from './schema.ts'

const entry = object({
  'lastSeen?': time('When the resource was last seen in use.'),
  'by?': string('What used the resource.'),
  'firstSeen?': time('When the resource was first seen, if it has no creation time.'),
})

const spec = object('Observed use of the resources of one shard.', {
  policy: string('Name of the CleanupPolicy.', { minLength: 1 }),
  location: string(
    'Location of the resources: empty for the local cluster, namespace.name of a GitopsCluster, or aws:account:region.',
  ),
  shard: integer('Number of this shard, from 0.', { minimum: 0 }),
  shards: integer('Number of shards.', { minimum: 1 }),
  trackingSince: time('Start of the observation without a long gap.'),
  observedAt: time('When all uses were last observed.'),
  // Atomic, because managed fields per entry would take more space than the entries.
  entries: mapOf('Observed use, by resource.', entry, { 'x-kubernetes-map-type': 'atomic' }),
})

/** One shard, of at most a thousand resources, of what a policy has observed in use. */
export const usageLedger = defineOwnKind({
  kind: 'UsageLedger',
  scope: 'Cluster',
  description: 'Records when the resources of one policy and location were last seen in use.',
  spec,
  status: object({}),
  columns: [
    { name: 'Policy', type: 'string', jsonPath: '.spec.policy' },
    { name: 'Location', type: 'string', jsonPath: '.spec.location' },
    { name: 'Since', type: 'date', jsonPath: '.spec.trackingSince' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type UsageLedger = ObjectOf<typeof usageLedger>
export type LedgerEntry = Static<typeof entry>
