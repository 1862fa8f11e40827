import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
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
  oneOf,
  optional,
  string,
  time,
  type Static,
} from './schema.ts'

const names = (description: string) => optional(list(string({ minLength: 1 }), { description }))
const count = (description: string) => optional(integer({ description }))

const kubernetesTarget = object(
  {
    clusters: names('GitopsClusters, as namespace.name. Default: the local cluster.'),
    resources: list(
      object({
        group: optional(string({ description: 'API group of the kind. Default: the core group.' })),
        version: optional(string({ description: 'API version of the kind. Default: the preferred version.' })),
        kind: string({ minLength: 1, description: 'Kind, such as ConfigMap.' }),
      }),
      { minItems: 1, description: 'Kinds of objects to evaluate.' },
    ),
    namespaces: optional(
      object(
        { include: names('Only these namespaces. Default: all.'), exclude: names('All but these namespaces.') },
        { description: 'Namespaces to look in. Default: all.' },
      ),
    ),
    labelSelector: optional(labelSelector({ description: 'Only objects with these labels. Default: all.' })),
    includeOwned: optional(
      boolean({
        description:
          'Whether to evaluate objects whose owner exists. Default: false, because they are deleted with their owner.',
      }),
    ),
    customReferences: optional(
      oneOf(['Unknown', 'Scan', 'Ignore'], {
        description:
          'How custom resources count when a rule asks whether an object is used. Unknown: any of them may use it, so it is kept. Scan: search them for its name. Ignore: they use nothing. Default: Unknown.',
      }),
    ),
  },
  { description: 'Objects of Kubernetes clusters.' },
)

const awsTarget = object(
  {
    accounts: list(string({ minLength: 1 }), { minItems: 1, description: 'Names of ProviderAccounts.' }),
    locations: names('Regions. Default: the regions of each account.'),
    resourceTypes: list(
      oneOf([
        'image',
        'snapshot',
        'serverGroup',
        'launchConfiguration',
        'launchTemplate',
        'loadBalancer',
        'loadBalancerV2',
        'securityGroup',
      ]),
      { minItems: 1, description: 'Types of cloud resources to evaluate.' },
    ),
  },
  { description: 'Resources of AWS accounts.' },
)

const rule = object({
  name: string({ minLength: 1, description: 'Name of a built-in rule, such as AgeRule, Unused or Expression.' }),
  description: optional(string({ description: 'Explanation of the rule, for readers of the policy.' })),
  parameters: optional(
    mapOf(anything(), { description: 'Parameters of the rule, such as moreThanDays or expression.' }),
  ),
})

const exclusion = object({
  type: string({
    minLength: 1,
    description:
      'Literal, Allowlist, Application, Account, Tag or LabelSelector. Allowlist excludes everything that it does not match.',
  }),
  attributes: optional(
    list(
      object({
        key: string({ minLength: 1, description: 'Name of the attribute or tag, such as name, namespace or owner.' }),
        value: list(anything(), {
          description: 'Values, one of which must match. A value `pattern:<regex>` is a regular expression.',
        }),
      }),
      { description: 'Attributes, one of which must match. Not used by LabelSelector.' },
    ),
  ),
  labelSelector: optional(labelSelector({ description: 'Labels to exclude, for the type LabelSelector.' })),
})

const ownerStrategy = object({
  type: oneOf(
    ['Tag', 'Annotation', 'Label', 'NamespaceAnnotation', 'OwnerReference', 'Creator', 'Map', 'Application'],
    { description: 'Where the owner is read from.' },
  ),
  keys: names('Names of the tags, annotations or labels. Default: sojourn.dev/owner, owner and creator.'),
  values: optional(mapOf(string(), { description: 'Owner addresses by name, for the types Map and Application.' })),
  primary: optional(
    boolean({ description: 'Whether this answer replaces those of other strategies. Default: false.' }),
  ),
})

const spec = object({
  suspend: optional(boolean({ description: 'Whether the policy is paused. Default: false.' })),
  dryRun: optional(
    boolean({ description: 'Whether to report what the policy would do instead of doing it. Default: false.' }),
  ),
  actions: optional(
    list(oneOf(['Mark', 'Notify', 'Delete']), { description: 'What the policy may do. Default: all three.' }),
  ),
  interval: optional(duration({ description: 'Time between two evaluations of all resources. Default: 15m.' })),
  targets: list(
    object({
      kubernetes: optional(kubernetesTarget),
      aws: optional(awsTarget),
    }),
    { minItems: 1, description: 'Resources that the policy evaluates.' },
  ),
  rules: list(
    object({
      operator: optional(
        oneOf(['OR', 'AND'], { description: 'Whether one rule must match, or all of them. Default: OR.' }),
      ),
      description: optional(string({ description: 'Explanation of the group, for readers of the policy.' })),
      rules: list(rule, { minItems: 1, description: 'Rules of the group.' }),
    }),
    { minItems: 1, description: 'Groups of rules. A resource is marked if one group matches it.' },
  ),
  minAge: optional(duration({ description: 'Younger resources are never marked. Default: 14d.' })),
  unusedFor: optional(
    duration({ description: 'Time without observed use before a resource may be marked. Default: not required.' }),
  ),
  retention: optional(
    object(
      {
        duration: optional(duration({ description: 'Retention as a length of time.' })),
        businessDays: optional(integer({ minimum: 0, description: 'Retention in business days of the WorkSchedule.' })),
      },
      { description: 'Time from the confirmed notice to the deletion. Default: 14 days.' },
    ),
  ),
  retentionWithoutOwner: optional(
    duration({ description: 'Retention of resources without a known owner. Default: the retention.' }),
  ),
  exclusions: optional(list(exclusion, { description: 'Resources that the policy never marks.' })),
  owner: optional(
    object(
      {
        strategies: optional(
          list(ownerStrategy, {
            description:
              'Ways to find the owner; all answers are combined. Default: Tag, OwnerReference, NamespaceAnnotation.',
          }),
        ),
        default: optional(string({ description: 'E-mail address of the owner if no strategy finds one.' })),
      },
      { description: 'How the owner of a resource is found.' },
    ),
  ),
  notification: optional(
    object(
      {
        channels: names('Names of NotificationChannels.'),
        itemsPerMessage: optional(
          integer({ minimum: 1, maximum: 500, description: 'Maximum number of resources per message. Default: 10.' }),
        ),
        remindBefore: optional(
          list(duration(), { description: 'Times before the deletion at which the owner is reminded. Default: none.' }),
        ),
        resourceUrl: optional(
          string({ description: 'Template of a link to each resource, with variables such as {{name}}.' }),
        ),
        docsUrl: optional(string({ description: 'Link to a page about this policy, added to each notice.' })),
        optOutBaseUrl: optional(
          string({ description: 'Base URL of the opt-out links in notices. Default: the URL of this server.' }),
        ),
        required: optional(
          boolean({ description: 'Whether only resources with a confirmed notice are deleted. Default: true.' }),
        ),
        onFailure: optional(
          oneOf(['Hold', 'Proceed'], {
            description: 'Whether deletions wait or proceed when a notice cannot be sent. Default: Hold.',
          }),
        ),
      },
      { description: 'How owners are notified.' },
    ),
  ),
  scheduleRef: optional(
    string({
      description: 'Name of the WorkSchedule outside of whose windows the policy does nothing. Default: any time.',
    }),
  ),
  limits: optional(
    object(
      {
        maxMarks: optional(
          integer({ minimum: 0, description: 'Maximum number of new marks per cycle. Default: 100.' }),
        ),
        maxDeletes: optional(
          integer({ minimum: 0, description: 'Maximum number of deletions per cycle. Default: 10.' }),
        ),
        maxDeletePercent: optional(
          integer({
            minimum: 0,
            maximum: 100,
            description: 'Maximum deletions per cycle, as a percentage of the listed resources. Default: 25.',
          }),
        ),
        maxUnmarks: optional(
          integer({
            minimum: 0,
            description:
              'If more marks than this would be removed in one cycle, the circuit breaker opens. Default: 250.',
          }),
        ),
        batchSize: optional(integer({ minimum: 1, description: 'Number of resources deleted together. Default: 5.' })),
        deleteSpread: optional(
          duration({ description: 'Time over which the batches of a cycle are spread. Default: 0.' }),
        ),
      },
      { description: 'Limits per cycle and location.' },
    ),
  ),
  safety: optional(
    object(
      {
        minInventory: optional(
          integer({
            minimum: 0,
            description: 'If fewer references than this are found, no resource counts as unused. Default: 0.',
          }),
        ),
        maxEvidenceAge: optional(
          duration({ description: 'Maximum age of the data that a decision is based on. Default: 1h.' }),
        ),
        maxInventoryDropPercent: optional(
          integer({
            minimum: 1,
            maximum: 100,
            description:
              'If the number of resources drops by more between two cycles, the circuit breaker opens. Default: 50.',
          }),
        ),
      },
      { description: 'Safeguards against mass deletion.' },
    ),
  ),
  deletion: optional(
    object(
      {
        propagationPolicy: optional(
          oneOf(['Background', 'Foreground', 'Orphan'], { description: 'Propagation policy of each deletion.' }),
        ),
        gracePeriodSeconds: optional(
          integer({
            minimum: 0,
            description: 'Grace period of each deletion, in seconds. Default: that of the object.',
          }),
        ),
        force: optional(
          boolean({ description: 'AWS: whether to delete server groups that have instances. Default: false.' }),
        ),
      },
      { description: 'How resources are deleted.' },
    ),
  ),
})

const cycle = object({
  generation: optional(integer({ description: 'metadata.generation of the policy in the last cycle.' })),
  markedAt: optional(time({ description: 'When the last evaluation of all resources ended.' })),
  deletedAt: optional(time({ description: 'When the last cycle of deletions started.' })),
  visited: count('Number of resources in the last complete listing.'),
  visitedAt: optional(time({ description: 'When they were listed.' })),
  excluded: count('Number of resources excluded in the last cycle.'),
  unknown: count('Number of resources whose use could not be determined in the last cycle.'),
  violating: count('Number of resources that matched the rules in the last cycle.'),
  marked: count('Number of resources marked in the last cycle.'),
  unmarked: count('Number of marks removed in the last cycle.'),
  notified: count('Number of resources whose owner was notified in the last cycle.'),
  deleted: count('Number of resources deleted in the last cycle.'),
  failed: count('Number of resources whose deletion failed in the last cycle.'),
  trouble: optional(string({ description: 'Why the last listing was incomplete; absent if it was complete.' })),
  circuit: optional(
    string({ description: 'Why the circuit breaker is open. Nothing is marked or deleted until a user closes it.' }),
  ),
  circuitOpenedAt: optional(time({ description: 'When the circuit breaker opened.' })),
  wouldMark: optional(list(string(), { description: 'In a dry run: the first resources that would be marked.' })),
})

const status = object({
  observedGeneration: count('metadata.generation that the conditions were computed from.'),
  conditions: optional(conditions()),
  locations: optional(
    mapOf(cycle, { description: 'Results of the last cycle by cluster, or by AWS account and region.' }),
  ),
  nextCycleTime: optional(time({ description: 'When the next cycle starts.' })),
})

/** Which unused resources are deleted, after what retention and notice, and how many at once. */
export const cleanupPolicy = defineKind({
  ...sojournGroup,
  kind: 'CleanupPolicy',
  plural: 'cleanuppolicies',
  scope: 'Cluster',
  description: 'Cleans up unused resources: marks them, notifies their owners, and deletes them after a retention.',
  shortNames: ['cpol'],
  categories: ['sojourn'],
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
