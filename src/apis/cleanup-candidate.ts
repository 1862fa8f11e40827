import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { boolean, conditions, integer, list, object, oneOf, optional, string, time, type Static } from './schema.ts'

const resource = object(
  {
    provider: oneOf(['kubernetes', 'aws'], { description: 'Where the resource is: Kubernetes or AWS.' }),
    cluster: optional(
      string({ description: 'GitopsCluster of the object, as namespace.name; absent for the local cluster.' }),
    ),
    account: optional(string({ description: 'ProviderAccount of the cloud resource.' })),
    region: optional(string({ description: 'Region of the cloud resource.' })),
    apiVersion: string({
      description: 'API group and version of the object; for cloud resources that of the provider.',
    }),
    kind: string({ minLength: 1, description: 'Kind of the object, or type of the cloud resource.' }),
    namespace: optional(string({ description: 'Namespace of the object.' })),
    name: string({ minLength: 1, description: 'Name of the resource.' }),
    uid: string({
      minLength: 1,
      description: 'UID of the object, or ARN or ID of the cloud resource with its creation time.',
    }),
  },
  { description: 'The marked resource. A new resource with the same name is not marked.' },
)

const spec = object({
  policy: string({ minLength: 1, description: 'Name of the CleanupPolicy that marked the resource.' }),
  location: string({
    description:
      'Location in which the policy found the resource: empty for the local cluster, namespace.name of a GitopsCluster, or aws:account:region.',
  }),
  resource,
  notBefore: optional(time({ description: 'Set by users to postpone the deletion until this time.' })),
  hold: optional(boolean({ description: 'Set by users to stop the deletion until the field is removed.' })),
})

const notice = object({
  kind: optional(
    oneOf(['notice', 'reminder', 'copy', 'none'], {
      description:
        'notice or reminder to the owner; copy: sent to other recipients, does not confirm the notice; none: no notice was required.',
    }),
  ),
  generation: optional(integer({ description: 'status.generation that the notice belongs to.' })),
  channel: string({ description: 'Name of the NotificationChannel.' }),
  recipient: optional(string({ description: 'Address that the notice was sent to.' })),
  at: time({ description: 'When the notice was sent or attempted.' }),
  messageId: optional(string({ description: 'ID that the channel gave the message.' })),
  error: optional(string({ description: 'Why the notice could not be sent; absent if it was.' })),
})

const status = object({
  phase: optional(
    oneOf(['Marked', 'Notified', 'Due', 'Deleting', 'Deleted', 'Failed', 'OptedOut', 'Unmarked'], {
      description: 'Progress of the cleanup. Deleted, OptedOut and Unmarked are final.',
    }),
  ),
  policyUid: optional(
    string({
      description:
        'UID of the CleanupPolicy that made the mark. A policy that was created again under the same name judges, marks and notifies anew.',
    }),
  ),
  generation: optional(
    integer({ description: 'How often the resource has been marked. Notices for an earlier mark do not count.' }),
  ),
  summaries: optional(
    list(
      object({
        rule: string({ description: 'Name of the rule.' }),
        description: string({ description: 'What the rule found.' }),
      }),
      { description: 'The rules that the resource violates.' },
    ),
  ),
  owner: optional(
    object(
      {
        address: string({ description: 'E-mail addresses, separated by commas.' }),
        source: string({ description: 'The owner strategies that found the addresses, or default.' }),
      },
      { description: 'Owner of the resource, who receives the notices.' },
    ),
  ),
  group: optional(
    string({
      description:
        'Application that the resource belongs to. Resources of different groups are deleted in different batches.',
    }),
  ),
  createdAt: optional(time({ description: 'When the resource was created.' })),
  markedAt: optional(time({ description: 'When the resource was marked.' })),
  notices: optional(list(notice, { description: 'Notices that were sent or attempted.' })),
  promisedTime: optional(
    time({
      description:
        'Deletion date that the owner was told. The resource is not deleted before it, and notices only ever move it to a later date.',
    }),
  ),
  projectedDeletionTime: optional(time({ description: 'Earliest time at which the resource is deleted.' })),
  retentionSeconds: optional(
    integer({ description: 'Retention set by a recalculation, instead of that of the policy.' }),
  ),
  scheduledTime: optional(time({ description: 'When its batch is deleted.' })),
  lastSeenUsed: optional(
    object(
      {
        by: string({ description: 'What used the resource.' }),
        at: time({ description: 'When the use was observed.' }),
      },
      { description: 'Last observed use of the resource.' },
    ),
  ),
  lastEvaluated: optional(
    object(
      {
        at: time({ description: 'When the rules were evaluated.' }),
        inventory: string({ description: 'When the inventory that they were evaluated on was read.' }),
      },
      { description: 'Last evaluation of the rules of the policy.' },
    ),
  ),
  because: optional(string({ description: 'Why the candidate is in this phase, as a machine-readable word.' })),
  message: optional(string({ description: 'Why the candidate is in this phase, as a sentence.' })),
  attempts: optional(integer({ description: 'Failed attempts to delete the resource, in a row.' })),
  nextAttemptTime: optional(time({ description: 'When the deletion is tried again.' })),
  fence: optional(integer({ description: 'Lease term of the replica that wrote this status.' })),
  finishedAt: optional(time({ description: 'When the candidate reached a final phase.' })),
  history: optional(
    list(
      object({
        at: time({ description: 'When the phase began.' }),
        phase: string({ description: 'The phase.' }),
        because: optional(string({ description: 'Why it began, as a machine-readable word.' })),
      }),
      { maxItems: 20, description: 'The last phases, oldest first.' },
    ),
  ),
  conditions: optional(conditions()),
})

/** The mark of one resource that a policy is going to delete, and the progress of that deletion. */
export const cleanupCandidate = defineKind({
  ...sojournGroup,
  kind: 'CleanupCandidate',
  plural: 'cleanupcandidates',
  scope: 'Cluster',
  description:
    'A resource that a CleanupPolicy has marked for deletion: who was notified, and when it will be deleted.',
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
