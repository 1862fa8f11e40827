import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { integer, mapOf, object, optional, string, time, type Static } from './schema.ts'

const entry = object({
  lastSeen: optional(time({ description: 'When it was last seen in use.' })),
  by: optional(string({ description: 'By what.' })),
  firstSeen: optional(time({ description: 'When it was first seen, for what has no creation date.' })),
})

const spec = object({
  policy: string({ minLength: 1 }),
  location: string(),
  shard: integer({ minimum: 0 }),
  shards: integer({ minimum: 1, description: 'Of how many this is one.' }),
  trackingSince: time({ description: 'Since when use has been followed without a long gap.' }),
  observedAt: time({ description: 'When use was last looked at, completely.' }),
  // Written as a whole: who wrote each single entry is of no use to anyone, and would take more room than all of them.
  entries: mapOf(entry, { 'x-kubernetes-map-type': 'atomic' }),
})

/** What a policy has seen in use, and when: a shard of at most a thousand resources. */
export const usageLedger = defineKind({
  ...sojournGroup,
  kind: 'UsageLedger',
  plural: 'usageledgers',
  scope: 'Cluster',
  description: 'When the resources of one policy and location were last seen in use.',
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
