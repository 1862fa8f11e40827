import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import {
  anything,
  boolean,
  conditions,
  duration,
  integer,
  labelSelector,
  list,
  mapOf,
  object,
  objects,
  oneOf,
  string,
  time,
  type Static,
} from './schema.ts'

const names = (description: string) => list(description, string({ minLength: 1 }))

const kubernetesTarget = object('Objects of Kubernetes clusters.', {
  'clusters?': names('GitopsClusters, as namespace.name. Default: the local cluster.'),
  resources: objects(
    'Kinds of objects to evaluate.',
    {
      'group?': string('API group of the kind. Default: the core group.'),
      'version?': string('API version of the kind. Default: the preferred version.'),
      kind: string('Kind, such as ConfigMap.', { minLength: 1 }),
    },
    { minItems: 1 },
  ),
  'namespaces?': object('Namespaces to look in. Default: all.', {
    'include?': names('Only these namespaces. Default: all.'),
    'exclude?': names('All but these namespaces.'),
  }),
  'labelSelector?': labelSelector('Only objects with these labels. Default: all.'),
  'includeOwned?': boolean(
    'Whether to evaluate objects whose owner exists. Default: false, because they are deleted with their owner.',
  ),
  'customReferences?': oneOf(
    'How custom resources count when a rule asks whether an object is used. Unknown: any of them may use it, so it is kept. Scan: search them for its name. Ignore: they use nothing. Default: Unknown.',
    ['Unknown', 'Scan', 'Ignore'],
  ),
})

const awsTarget = object('Resources of AWS accounts.', {
  accounts: list('Names of ProviderAccounts.', string({ minLength: 1 }), { minItems: 1 }),
  'locations?': names('Regions. Default: the regions of each account.'),
  resourceTypes: list(
    'Types of cloud resources to evaluate.',
    oneOf([
      'image',
      'snapshot',
      'serverGroup',
      'launchConfiguration',
      'launchTemplate',
      'loadBalancer',
      'loadBalancerV2',
      'securityGroup',
      'volume',
      'elasticIp',
      'natGateway',
      'networkInterface',
      'dbInstance',
      'dbSnapshot',
      'logGroup',
      'ecrImage',
    ]),
    { minItems: 1 },
  ),
})

const rule = object({
  name: string('Name of a built-in rule, such as AgeRule, Unused or Expression.', { minLength: 1 }),
  'description?': string('Explanation of the rule, for readers of the policy.'),
  'parameters?': mapOf('Parameters of the rule, such as moreThanDays or expression.', anything()),
})

const exclusion = object({
  type: string(
    'Literal, Allowlist, Application, Account, Tag or LabelSelector. Allowlist excludes everything that it does not match.',
    { minLength: 1 },
  ),
  'attributes?': objects('Attributes, one of which must match. Not used by LabelSelector.', {
    key: string('Name of the attribute or tag, such as name, namespace or owner.', { minLength: 1 }),
    value: list('Values, one of which must match. A value `pattern:<regex>` is a regular expression.', anything()),
  }),
  'labelSelector?': labelSelector('Labels to exclude, for the type LabelSelector.'),
})

const ownerStrategy = object({
  type: oneOf('Where the owner is read from.', [
    'Tag',
    'Annotation',
    'Label',
    'NamespaceAnnotation',
    'OwnerReference',
    'Creator',
    'Map',
    'Application',
  ]),
  'keys?': names('Names of the tags, annotations or labels. Default: sojourn.dev/owner, owner and creator.'),
  'values?': mapOf('Owner addresses by name, for the types Map and Application.', string()),
  'primary?': boolean('Whether this answer replaces those of other strategies. Default: false.'),
})

const spec = object({
  'suspend?': boolean('Whether the policy is paused. Default: false.'),
  'dryRun?': boolean('Whether to report what the policy would do instead of doing it. Default: false.'),
  'actions?': list('What the policy may do. Default: all three.', oneOf(['Mark', 'Notify', 'Delete'])),
  'interval?': duration('Time between two evaluations of all resources. Default: 15m.'),
  targets: objects(
    'Resources that the policy evaluates.',
    {
      'kubernetes?': kubernetesTarget,
      'aws?': awsTarget,
    },
    { minItems: 1 },
  ),
  rules: objects(
    'Groups of rules. A resource is marked if one group matches it.',
    {
      'operator?': oneOf('Whether one rule must match, or all of them. Default: OR.', ['OR', 'AND']),
      'description?': string('Explanation of the group, for readers of the policy.'),
      rules: list('Rules of the group.', rule, { minItems: 1 }),
    },
    { minItems: 1 },
  ),
  'minAge?': duration('Younger resources are never marked. Default: 14d.'),
  'unusedFor?': duration('Time without observed use before a resource may be marked. Default: not required.'),
  'retention?': object('Time from the confirmed notice to the deletion. Default: 14 days.', {
    'duration?': duration('Retention as a length of time.'),
    'businessDays?': integer('Retention in business days of the WorkSchedule.', { minimum: 0 }),
  }),
  'retentionWithoutOwner?': duration('Retention of resources without a known owner. Default: the retention.'),
  'exclusions?': list('Resources that the policy never marks.', exclusion),
  'owner?': object('How the owner of a resource is found.', {
    'strategies?': list(
      'Ways to find the owner; all answers are combined. Default: Tag, OwnerReference, NamespaceAnnotation.',
      ownerStrategy,
    ),
    'default?': string('E-mail address of the owner if no strategy finds one.'),
  }),
  'notification?': object('How owners are notified.', {
    'channels?': names('Names of NotificationChannels.'),
    'itemsPerMessage?': integer('Maximum number of resources per message. Default: 10.', { minimum: 1, maximum: 500 }),
    'remindBefore?': list('Times before the deletion at which the owner is reminded. Default: none.', duration()),
    'resourceUrl?': string('Template of a link to each resource, with variables such as {{name}}.'),
    'docsUrl?': string('Link to a page about this policy, added to each notice.'),
    'optOutBaseUrl?': string('Base URL of the opt-out links in notices. Default: the URL of this server.'),
    'required?': boolean('Whether only resources with a confirmed notice are deleted. Default: true.'),
    'onFailure?': oneOf('Whether deletions wait or proceed when a notice cannot be sent. Default: Hold.', [
      'Hold',
      'Proceed',
    ]),
  }),
  'scheduleRef?': string(
    'Name of the WorkSchedule outside of whose windows the policy does nothing. Default: any time.',
  ),
  'limits?': object('Limits per cycle and location.', {
    'maxMarks?': integer('Maximum number of new marks per cycle. Default: 100.', { minimum: 0 }),
    'maxDeletes?': integer('Maximum number of deletions per cycle. Default: 10.', { minimum: 0 }),
    'maxDeletePercent?': integer('Maximum deletions per cycle, as a percentage of the listed resources. Default: 25.', {
      minimum: 0,
      maximum: 100,
    }),
    'maxUnmarks?': integer(
      'If more marks than this would be removed in one cycle, the circuit breaker opens. Default: 250.',
      { minimum: 0 },
    ),
    'batchSize?': integer('Number of resources deleted together. Default: 5.', { minimum: 1 }),
    'deleteSpread?': duration('Time over which the batches of a cycle are spread. Default: 0.'),
  }),
  'safety?': object('Safeguards against mass deletion.', {
    'minInventory?': integer('If fewer references than this are found, no resource counts as unused. Default: 0.', {
      minimum: 0,
    }),
    'maxEvidenceAge?': duration('Maximum age of the data that a decision is based on. Default: 1h.'),
    'maxInventoryDropPercent?': integer(
      'If the number of resources drops by more between two cycles, the circuit breaker opens. Default: 50.',
      { minimum: 1, maximum: 100 },
    ),
  }),
  'deletion?': object('How resources are deleted.', {
    'propagationPolicy?': oneOf('Propagation policy of each deletion.', ['Background', 'Foreground', 'Orphan']),
    'gracePeriodSeconds?': integer('Grace period of each deletion, in seconds. Default: that of the object.', {
      minimum: 0,
    }),
    'force?': boolean('AWS: whether to delete server groups that have instances. Default: false.'),
  }),
})

const cycle = object({
  'generation?': integer('metadata.generation of the policy in the last cycle.'),
  'markedAt?': time('When the last evaluation of all resources ended.'),
  'deletedAt?': time('When the last cycle of deletions started.'),
  'visited?': integer('Number of resources in the last complete listing.'),
  'visitedAt?': time('When they were listed.'),
  'excluded?': integer('Number of resources excluded in the last cycle.'),
  'unknown?': integer('Number of resources whose use could not be determined in the last cycle.'),
  'violating?': integer('Number of resources that matched the rules in the last cycle.'),
  'marked?': integer('Number of resources marked in the last cycle.'),
  'unmarked?': integer('Number of marks removed in the last cycle.'),
  'notified?': integer('Number of resources whose owner was notified in the last cycle.'),
  'deleted?': integer('Number of resources deleted in the last cycle.'),
  'failed?': integer('Number of resources whose deletion failed in the last cycle.'),
  'trouble?': string('Why the last listing was incomplete; absent if it was complete.'),
  'circuit?': string('Why the circuit breaker is open. Nothing is marked or deleted until a user closes it.'),
  'circuitOpenedAt?': time('When the circuit breaker opened.'),
  'wouldMark?': list('In a dry run: the first resources that would be marked.', string()),
})

const status = object({
  'observedGeneration?': integer('metadata.generation that the conditions were computed from.'),
  'conditions?': conditions(),
  'locations?': mapOf('Results of the last cycle by cluster, or by AWS account and region.', cycle),
  'nextCycleTime?': time('When the next cycle starts.'),
})

/** Which unused resources are deleted, after what retention and notice, and how many at once. */
export const cleanupPolicy = defineOwnKind({
  kind: 'CleanupPolicy',
  plural: 'cleanuppolicies',
  scope: 'Cluster',
  description: 'Cleans up unused resources: marks them, notifies their owners, and deletes them after a retention.',
  shortNames: ['cpol'],
  spec,
  status,
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Dry run', type: 'boolean', jsonPath: '.spec.dryRun' },
    { name: 'Suspended', type: 'boolean', jsonPath: '.spec.suspend', priority: 1 },
    { name: 'Schedule', type: 'string', jsonPath: '.spec.scheduleRef', priority: 1 },
    { name: 'Next', type: 'string', jsonPath: '.status.nextCycleTime' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type CleanupPolicy = ObjectOf<typeof cleanupPolicy>
export type CleanupPolicySpec = Static<typeof spec>
export type LocationStatus = Static<typeof cycle>
export type KubernetesTarget = Static<typeof kubernetesTarget>
export type AwsTarget = Static<typeof awsTarget>
export type AwsTypeName = AwsTarget['resourceTypes'][number]
export type ExclusionSpec = Static<typeof exclusion>
export type OwnerStrategySpec = Static<typeof ownerStrategy>
