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

const kubernetesTarget = object({
  clusters: names('GitopsClusters as namespace.name; the empty list means the cluster this policy is in.'),
  resources: list(
    object({
      group: optional(string({ description: 'Defaults to the core group.' })),
      version: optional(string({ description: 'Defaults to the version the cluster prefers.' })),
      kind: string({ minLength: 1 }),
    }),
    { minItems: 1 },
  ),
  namespaces: optional(object({ include: names('Only these.'), exclude: names('Not these.') })),
  labelSelector: optional(labelSelector()),
  includeOwned: optional(
    boolean({ description: 'Also objects whose owner still exists. Defaults to false: they go with their owner.' }),
  ),
  customReferences: optional(
    oneOf(['Unknown', 'Scan', 'Ignore'], {
      description:
        'What custom resources of others mean for "unused": nothing is certain, look for the name in them, or none refers to it. Defaults to Unknown.',
    }),
  ),
})

const awsTarget = object({
  accounts: list(string({ minLength: 1 }), { minItems: 1, description: 'ProviderAccounts by name.' }),
  locations: names('Regions; those of each account when absent.'),
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
    { minItems: 1 },
  ),
})

const rule = object({
  name: string({ minLength: 1, description: 'A built-in rule, such as AgeRule, Unused or Expression.' }),
  description: optional(string()),
  parameters: optional(mapOf(anything())),
})

const exclusion = object({
  type: string({ minLength: 1, description: 'Literal, Allowlist, Application, Account, Tag or LabelSelector.' }),
  attributes: optional(list(object({ key: string({ minLength: 1 }), value: list(anything()) }))),
  labelSelector: optional(labelSelector()),
})

const ownerStrategy = object({
  type: oneOf(['Tag', 'Annotation', 'Label', 'NamespaceAnnotation', 'OwnerReference', 'Creator', 'Map', 'Application']),
  keys: names('Where to look. Defaults to owner and creator.'),
  values: optional(mapOf(string(), { description: 'Who stands for which name: for Map and Application.' })),
  primary: optional(boolean({ description: 'Its answer replaces those of the others. Defaults to false.' })),
})

const spec = object({
  suspend: optional(boolean({ description: 'Does nothing at all. Defaults to false.' })),
  dryRun: optional(boolean({ description: 'Only says what it would do. Defaults to false.' })),
  actions: optional(list(oneOf(['Mark', 'Notify', 'Delete']), { description: 'Defaults to all three.' })),
  interval: optional(duration({ description: 'Time between two looks at everything. Defaults to 15m.' })),
  targets: list(object({ kubernetes: optional(kubernetesTarget), aws: optional(awsTarget) }), {
    minItems: 1,
    description: 'What the policy looks at.',
  }),
  rules: list(
    object({
      operator: optional(oneOf(['OR', 'AND'], { description: 'Defaults to OR.' })),
      description: optional(string()),
      rules: list(rule, { minItems: 1 }),
    }),
    { minItems: 1, description: 'Branches, any of which suffices.' },
  ),
  minAge: optional(duration({ description: 'Younger things are left alone. Defaults to 14d.' })),
  unusedFor: optional(duration({ description: 'Only what has not been seen in use for this long.' })),
  retention: optional(
    object(
      { duration: optional(duration()), businessDays: optional(integer({ minimum: 0 })) },
      { description: 'From the confirmed notice to the deletion. Defaults to 14 days.' },
    ),
  ),
  retentionWithoutOwner: optional(duration({ description: 'Where no owner is known. Defaults to the retention.' })),
  exclusions: optional(list(exclusion)),
  owner: optional(
    object({
      strategies: optional(list(ownerStrategy)),
      default: optional(string({ description: 'An e-mail address.' })),
    }),
  ),
  notification: optional(
    object({
      channels: optional(list(string({ minLength: 1 }), { description: 'NotificationChannels by name.' })),
      itemsPerMessage: optional(integer({ minimum: 1, maximum: 500, description: 'Defaults to 10.' })),
      remindBefore: optional(list(duration(), { description: 'Reminders, this long before the deletion.' })),
      resourceUrl: optional(string({ description: 'Link to a resource; {{name}} and the like are filled in.' })),
      docsUrl: optional(string()),
      optOutBaseUrl: optional(string({ description: 'Where the opt-out page is reached. Defaults to this server.' })),
      required: optional(boolean({ description: 'Nothing is deleted without a confirmed notice. Defaults to true.' })),
      onFailure: optional(oneOf(['Hold', 'Proceed'], { description: 'Defaults to Hold.' })),
    }),
  ),
  scheduleRef: optional(string({ description: 'The WorkSchedule in which it marks, notifies and deletes.' })),
  limits: optional(
    object({
      maxMarks: optional(integer({ minimum: 0, description: 'New marks per cycle. Defaults to 100.' })),
      maxDeletes: optional(integer({ minimum: 0, description: 'Deletions per cycle. Defaults to 10.' })),
      maxDeletePercent: optional(
        integer({ minimum: 0, maximum: 100, description: 'Of everything listed, per cycle. Defaults to 25.' }),
      ),
      maxUnmarks: optional(
        integer({ minimum: 0, description: 'More in one cycle opens the circuit. Defaults to 250.' }),
      ),
      batchSize: optional(integer({ minimum: 1, description: 'Defaults to 5.' })),
      deleteSpread: optional(duration({ description: 'Batches are spread over this time. Defaults to 0.' })),
    }),
  ),
  safety: optional(
    object({
      minInventory: optional(integer({ minimum: 0, description: 'With fewer references seen, nothing is unused.' })),
      maxEvidenceAge: optional(duration({ description: 'Older evidence counts as none. Defaults to 1h.' })),
      maxInventoryDropPercent: optional(
        integer({
          minimum: 1,
          maximum: 100,
          description: 'A larger drop between two looks opens the circuit. Defaults to 50.',
        }),
      ),
    }),
  ),
  deletion: optional(
    object({
      propagationPolicy: optional(oneOf(['Background', 'Foreground', 'Orphan'])),
      gracePeriodSeconds: optional(integer({ minimum: 0 })),
      force: optional(boolean({ description: 'AWS: also groups that still have instances. Defaults to false.' })),
    }),
  ),
})

const cycle = object({
  generation: optional(integer({ description: 'The generation of the policy that was last followed here.' })),
  markedAt: optional(time({ description: 'When everything was last looked at.' })),
  deletedAt: optional(time({ description: 'When the last cycle of deletions began.' })),
  visited: optional(integer()),
  visitedAt: optional(time({ description: 'When that many were there.' })),
  excluded: optional(integer()),
  unknown: optional(integer()),
  violating: optional(integer()),
  marked: optional(integer()),
  unmarked: optional(integer()),
  notified: optional(integer()),
  deleted: optional(integer()),
  failed: optional(integer()),
  trouble: optional(string({ description: 'Why the last look was not complete.' })),
  circuit: optional(string({ description: 'Why nothing happens until a human closes the circuit.' })),
  circuitOpenedAt: optional(time()),
  wouldMark: optional(list(string(), { description: 'In a dry run: what would be marked, the first of them.' })),
})

const status = object({
  observedGeneration: optional(integer()),
  conditions: optional(conditions()),
  locations: optional(mapOf(cycle, { description: 'What was last found and done, by location.' })),
  nextCycleTime: optional(time()),
})

/** Which resources nobody needs, how long they stay, who is told, and how many may go at once. */
export const cleanupPolicy = defineKind({
  ...sojournGroup,
  kind: 'CleanupPolicy',
  plural: 'cleanuppolicies',
  scope: 'Cluster',
  description: 'Which resources are to be cleaned up: marked, announced to their owners, and deleted after a time.',
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
