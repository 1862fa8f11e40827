import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { boolean, conditions, integer, list, object, oneOf, optional, string, time, type Static } from './schema.ts'

const resource = object(
  {
    provider: oneOf(['kubernetes', 'aws']),
    cluster: optional(string({ description: 'Absent for the cluster this mark is in.' })),
    account: optional(string()),
    region: optional(string()),
    apiVersion: string(),
    kind: string({ minLength: 1 }),
    namespace: optional(string()),
    name: string({ minLength: 1 }),
    uid: string({ minLength: 1, description: 'The uid, or the ARN or id of a cloud resource with its creation time.' }),
  },
  { description: 'What is marked: this very one, not another under its name.' },
)

const spec = object({
  policy: string({ minLength: 1, description: 'The CleanupPolicy that marked it.' }),
  location: string({ description: 'Where the policy found it.' }),
  resource,
  notBefore: optional(time({ description: 'A human’s postponement.' })),
  hold: optional(boolean({ description: 'A human says: not now.' })),
})

const notice = object({
  kind: optional(
    oneOf(['notice', 'reminder', 'copy', 'none'], {
      description: 'A copy went to others than the owner, while the owner could be told, and confirms nothing.',
    }),
  ),
  generation: optional(integer()),
  channel: string(),
  recipient: optional(string()),
  at: time(),
  messageId: optional(string()),
  error: optional(string()),
})

const status = object({
  phase: optional(oneOf(['Marked', 'Notified', 'Due', 'Deleting', 'Deleted', 'Failed', 'OptedOut', 'Unmarked'])),
  generation: optional(integer({ description: 'Counts the marks of this resource: a notice belongs to one of them.' })),
  summaries: optional(list(object({ rule: string(), description: string() }))),
  owner: optional(object({ address: string(), source: string() })),
  group: optional(string({ description: 'What it belongs to; a batch never mixes groups.' })),
  createdAt: optional(time()),
  markedAt: optional(time()),
  notices: optional(list(notice)),
  promisedTime: optional(
    time({ description: 'The earliest date any notice of this mark has printed; it only grows.' }),
  ),
  projectedDeletionTime: optional(time()),
  retentionSeconds: optional(integer({ description: 'Set by a recalculation, instead of the policy’s retention.' })),
  scheduledTime: optional(time({ description: 'When its batch has its turn.' })),
  lastSeenUsed: optional(object({ by: string(), at: time() })),
  lastEvaluated: optional(object({ at: time(), inventory: string() })),
  because: optional(string({ description: 'Why it is in this phase.' })),
  message: optional(string()),
  attempts: optional(integer()),
  nextAttemptTime: optional(time()),
  fence: optional(integer({ description: 'Which holder of the lease wrote this.' })),
  finishedAt: optional(time()),
  history: optional(list(object({ at: time(), phase: string(), because: optional(string()) }), { maxItems: 20 })),
  conditions: optional(conditions()),
})

/** The mark: one resource that a policy wants gone, and how far that has come. */
export const cleanupCandidate = defineKind({
  ...sojournGroup,
  kind: 'CleanupCandidate',
  plural: 'cleanupcandidates',
  scope: 'Cluster',
  description: 'A resource that a CleanupPolicy has marked, whom it told, and when the resource will be deleted.',
  shortNames: ['candidate'],
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.resource.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.resource.namespace' },
    { name: 'Resource', type: 'string', jsonPath: '.spec.resource.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Owner', type: 'string', jsonPath: '.status.owner.address' },
    { name: 'Leaves', type: 'string', jsonPath: '.status.projectedDeletionTime' },
    { name: 'Because', type: 'string', jsonPath: '.status.because', priority: 1 },
    { name: 'Policy', type: 'string', jsonPath: '.spec.policy', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type CleanupCandidate = ObjectOf<typeof cleanupCandidate>
export type CandidateSpec = Static<typeof spec>
export type CandidateStatus = Static<typeof status>
export type CandidatePhase = NonNullable<CandidateStatus['phase']>
export type CandidateNotice = Static<typeof notice>
