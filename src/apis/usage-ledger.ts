import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { integer, mapOf, object, optional, string, time, type Static } from './schema.ts'

const entry = object({
  lastSeen: optional(time({ description: 'When the resource was last seen in use.' })),
  by: optional(string({ description: 'What used the resource.' })),
  firstSeen: optional(time({ description: 'When the resource was first seen, if it has no creation time.' })),
})

const spec = object(
  {
    policy: string({ minLength: 1, description: 'Name of the CleanupPolicy.' }),
    location: string({
      description:
        'Location of the resources: empty for the local cluster, namespace.name of a GitopsCluster, or aws:account:region.',
    }),
    shard: integer({ minimum: 0, description: 'Number of this shard, from 0.' }),
    shards: integer({ minimum: 1, description: 'Number of shards.' }),
    trackingSince: time({ description: 'Start of the observation without a long gap.' }),
    observedAt: time({ description: 'When all uses were last observed.' }),
    // Atomic, because managed fields per entry would take more space than the entries.
    entries: mapOf(entry, { 'x-kubernetes-map-type': 'atomic', description: 'Observed use, by resource.' }),
  },
  { description: 'Observed use of the resources of one shard.' },
)

/** One shard, of at most a thousand resources, of what a policy has observed in use. */
export const usageLedger = defineKind({
  ...sojournGroup,
  kind: 'UsageLedger',
  plural: 'usageledgers',
  scope: 'Cluster',
  description: 'Records when the resources of one policy and location were last seen in use.',
  categories: ['sojourn'],
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
