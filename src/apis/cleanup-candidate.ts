import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { boolean, conditions, integer, list, object, objects, oneOf, string, time, type Static } from './schema.ts'

const resource = object('The marked resource. A new resource with the same name is not marked.', {
  provider: oneOf('Where the resource is: Kubernetes or AWS.', ['kubernetes', 'aws']),
  'cluster?': string('GitopsCluster of the object, as namespace.name; absent for the local cluster.'),
  'account?': string('ProviderAccount of the cloud resource.'),
  'region?': string('Region of the cloud resource.'),
  apiVersion: string('API group and version of the object; for cloud resources that of the provider.'),
  kind: string('Kind of the object, or type of the cloud resource.', { minLength: 1 }),
  'namespace?': string('Namespace of the object.'),
  name: string('Name of the resource.', { minLength: 1 }),
  uid: string('UID of the object, or ARN or ID of the cloud resource with its creation time.', { minLength: 1 }),
})

const spec = object({
  policy: string('Name of the CleanupPolicy that marked the resource.', { minLength: 1 }),
  location: string(
    'Location in which the policy found the resource: empty for the local cluster, namespace.name of a GitopsCluster, or aws:account:region.',
  ),
  resource,
  'notBefore?': time('Set by users to postpone the deletion until this time.'),
  'hold?': boolean('Set by users to stop the deletion until the field is removed.'),
})

const notice = object({
  'kind?': oneOf(
    'notice or reminder to the owner; copy: sent to other recipients, does not confirm the notice; none: no notice was required.',
    ['notice', 'reminder', 'copy', 'none'],
  ),
  'generation?': integer('status.generation that the notice belongs to.'),
  channel: string('Name of the NotificationChannel.'),
  'recipient?': string('Address that the notice was sent to.'),
  at: time('When the notice was sent or attempted.'),
  'messageId?': string('ID that the channel gave the message.'),
  'error?': string('Why the notice could not be sent; absent if it was.'),
})

const status = object({
  'phase?': oneOf('Progress of the cleanup. Deleted, OptedOut and Unmarked are final.', [
    'Marked',
    'Notified',
    'Due',
    'Deleting',
    'Deleted',
    'Failed',
    'OptedOut',
    'Unmarked',
  ]),
  'policyUid?': string(
    'UID of the CleanupPolicy that made the mark. A policy that was created again under the same name judges, marks and notifies anew.',
  ),
  'generation?': integer('How often the resource has been marked. Notices for an earlier mark do not count.'),
  'summaries?': objects('The rules that the resource violates.', {
    rule: string('Name of the rule.'),
    description: string('What the rule found.'),
  }),
  'about?': string('Name, size and price of a cloud resource.'),
  'displayName?': string('Name of a cloud resource that has one beside its ID, such as an image.'),
  'owner?': object('Owner of the resource, who receives the notices.', {
    address: string('E-mail addresses, separated by commas.'),
    source: string('The owner strategies that found the addresses, or default.'),
  }),
  'group?': string(
    'Application that the resource belongs to. Resources of different groups are deleted in different batches.',
  ),
  'createdAt?': time('When the resource was created.'),
  'markedAt?': time('When the resource was marked.'),
  'notices?': list('Notices that were sent or attempted.', notice),
  'promisedTime?': time(
    'Deletion date that the owner was told. The resource is not deleted before it, and notices only ever move it to a later date.',
  ),
  'projectedDeletionTime?': time('Earliest time at which the resource is deleted.'),
  'leaves?': string(
    'When the resource is deleted at the earliest; "due" once that has passed and something else, such as a WorkSchedule, a limit or a hold, delays it.',
  ),
  'retentionSeconds?': integer('Retention set by a recalculation, instead of that of the policy.'),
  'scheduledTime?': time('When its batch is deleted.'),
  'lastSeenUsed?': object('Last observed use of the resource.', {
    by: string('What used the resource.'),
    at: time('When the use was observed.'),
  }),
  'lastEvaluated?': object('Last evaluation of the rules of the policy.', {
    at: time('When the rules were evaluated.'),
    inventory: string('When the inventory that they were evaluated on was read.'),
  }),
  'because?': string('Why the candidate is in this phase, as a machine-readable word.'),
  'message?': string('Why the candidate is in this phase, as a sentence.'),
  'attempts?': integer('Failed attempts to delete the resource, in a row.'),
  'nextAttemptTime?': time('When the deletion is tried again.'),
  'fence?': integer('Lease term of the replica that wrote this status.'),
  'finishedAt?': time('When the candidate reached a final phase.'),
  'history?': objects(
    'The last phases, oldest first.',
    {
      at: time('When the phase began.'),
      phase: string('The phase.'),
      'because?': string('Why it began, as a machine-readable word.'),
    },
    { maxItems: 20 },
  ),
  'conditions?': conditions(),
})

/** The mark of one resource that a policy is going to delete, and the progress of that deletion. */
export const cleanupCandidate = defineOwnKind({
  kind: 'CleanupCandidate',
  scope: 'Cluster',
  description:
    'A resource that a CleanupPolicy has marked for deletion: who was notified, and when it will be deleted.',
  shortNames: ['candidate'],
  spec,
  status,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.resource.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.resource.namespace' },
    { name: 'Resource', type: 'string', jsonPath: '.spec.resource.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Owner', type: 'string', jsonPath: '.status.owner.address' },
    { name: 'Leaves', type: 'string', jsonPath: '.status.leaves' },
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
