import { cleanupPolicy, type CleanupPolicy, type CleanupPolicySpec } from '../../../apis/cleanup-policy.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { formatDuration } from '../../../kube/time.ts'
import { compilePolicy } from '../policy/policy.ts'
import { exclusionsOf } from './exclusions.ts'
import { kubeName } from './kube-name.ts'
import type { Settings } from './settings.ts'

export interface PolicyContext {
  readonly hasSchedule: boolean
  readonly hasSmtp: boolean
  /** The names of the ProviderAccounts. */
  readonly accounts: readonly string[]
  /** Accounts with a Eureka server. */
  readonly inDiscovery: ReadonlySet<string>
  readonly notices: string[]
  readonly problems: string[]
}

const typeNames = [
  'image',
  'snapshot',
  'serverGroup',
  'launchConfiguration',
  'launchTemplate',
  'loadBalancer',
  'securityGroup',
] as const
const actionNames = { MARK: 'Mark', NOTIFY: 'Notify', DELETE: 'Delete' } as const
const discoveryRules = ['NotInDiscoveryRule', 'ZeroInstanceInDiscoveryDisabledServerGroupRule']
const disabledRules = ['ZeroInstanceDisabledServerGroupRule', 'ZeroInstanceInDiscoveryDisabledServerGroupRule']

/** One policy per provider and resource type. */
export function policiesOf(settings: Settings, swabbie: Settings, context: PolicyContext): readonly KubeObject[] {
  const applications = applicationsOf(settings)
  const general = generalOf(swabbie)
  return swabbie.parts('providers').flatMap((provider) => {
    const name = provider.text('name') ?? ''
    if (name.toLowerCase() !== 'aws') {
      context.problems.push(`${provider.path}.name: unknown provider "${name}"; only aws is supported`)
      return []
    }
    const shared = sharedOf(provider)
    return provider.parts('resourceTypes').flatMap((type) => {
      const policy = policyOf(type, { shared, general, applications, context })
      if (policy) checkPolicy(policy, type, context)
      return policy ? [policy] : []
    })
  })
}

/** Adds the problems that the janitor itself would report for the policy. */
function checkPolicy(policy: KubeObject, type: Settings, { problems }: PolicyContext): void {
  const compiled = compilePolicy(policy as unknown as CleanupPolicy)
  if ('problems' in compiled)
    problems.push(...compiled.problems.map(({ field, problem }) => `${type.path}: ${field}: ${problem}`))
}

interface Parts {
  readonly shared: ReturnType<typeof sharedOf>
  readonly general: ReturnType<typeof generalOf>
  readonly applications: Readonly<Record<string, string>> | undefined
  readonly context: PolicyContext
}

function generalOf(swabbie: Settings) {
  return {
    stopped: isStopped(swabbie),
    dryRun: swabbie.flag('dryRun') ?? true,
    outOfUseDays: swabbie.number('outOfUseThresholdDays') ?? 30,
    floor: Math.max(swabbie.number('minImagesUsedByLC') ?? 500, swabbie.number('minImagesUsedByInst') ?? 500),
    maxUnmarks: swabbie.number('maxUnmarkedPerCycle') ?? 250,
    // Swabbie judges again when both have passed: the processor's pause and the refill of its queue.
    intervalMs: Math.max(
      swabbie.part('work').number('intervalMs') ?? 180_000,
      swabbie.part('queue').number('monitorIntervalMs') ?? 900_000,
    ),
    disabledDays: swabbie.part('resource').part('disabled').part('days').number('count') ?? 30,
    testIds: swabbie.part('testing').part('alwaysCleanRuleConfig').texts('resourceIds') ?? [],
  }
}

/** In Swabbie, `work.enabled: true` stops everything, despite its name. */
function isStopped(swabbie: Settings): boolean {
  const work = swabbie.part('work')
  return !(swabbie.flag('enabled') ?? true) || (work.flag('enabled') ?? false)
}

function sharedOf(provider: Settings) {
  return {
    locations: provider.texts('locations') ?? [],
    accounts: (provider.texts('accounts') ?? []).map(kubeName),
    exclusions: exclusionsOf(provider),
    maxItems: provider.number('maxItemsProcessedPerCycle') ?? 10,
    batchSize: provider.number('itemsProcessedBatchSize') ?? 5,
    spreadMs: provider.number('deleteSpreadMs') ?? 0,
  }
}

function policyOf(type: Settings, { shared, general, applications, context }: Parts): KubeObject | undefined {
  const { notices, problems, inDiscovery } = context
  const named = type.text('name') ?? ''
  const name = typeNames.find((candidate) => candidate.toLowerCase() === named.toLowerCase())
  if (!name) {
    problems.push(`${type.path}.name: unknown resource type "${named}"`)
    return undefined
  }
  if (type.flag('entityTaggingEnabled'))
    notices.push(`${type.path}: entityTaggingEnabled is ignored: marks are CleanupCandidates instead of entity tags`)
  const exclusions = [...exclusionsOf(type), ...shared.exclusions]
  const needsApplications = exclusions.some((exclusion) => exclusion.type.toLowerCase() === 'application')
  if (needsApplications && !applications) {
    problems.push(`${type.path}: Application exclusions need a block "applications" with names and e-mail addresses`)
    return undefined
  }
  const rules = rulesOf(type, general)
  if (rules.length === 0) {
    notices.push(`${type.path} is ignored, as in Swabbie: it has no rules`)
    type.dismiss()
    return undefined
  }
  if (name === 'image' && general.floor >= 500)
    notices.push(
      `${type.path}: with fewer than ${general.floor} images in use no image is deleted; lower minImagesUsedByLC and minImagesUsedByInst for a small account`,
    )
  const undiscovered = shared.accounts.filter((account) => !inDiscovery.has(account))
  const asksDiscovery = rules.some((branch) => branch.rules.some(({ name: rule }) => discoveryRules.includes(rule)))
  if (asksDiscovery && undiscovered.length > 0)
    notices.push(
      `${type.path}: ${discoveryRules.join(' and ')} cannot decide for ${undiscovered.join(', ')}: set eurekaUrl in the block "accounts", or resources that only these rules match are kept`,
    )
  const notification = notificationOf(type, context)
  const spec: CleanupPolicySpec = {
    suspend: general.stopped || !(type.flag('enabled') ?? false),
    dryRun: general.dryRun || (type.flag('dryRun') ?? false),
    actions: actionsOf(type),
    interval: formatDuration(general.intervalMs),
    targets: [{ aws: { accounts: [...shared.accounts], locations: [...shared.locations], resourceTypes: [name] } }],
    rules,
    minAge: `${type.number('maxAge') ?? 14}d`,
    ...(name === 'image' && general.outOfUseDays > 0 ? { unusedFor: `${general.outOfUseDays}d` } : {}),
    retention: { duration: `${type.number('retention') ?? 14}d` },
    exclusions,
    owner: {
      strategies: [
        { type: 'Tag', keys: ['owner', 'creator'] },
        ...(applications ? [{ type: 'Application' as const, values: applications }] : []),
      ],
      ...notification.owner,
    },
    ...(notification.spec ? { notification: notification.spec } : {}),
    ...(context.hasSchedule ? { scheduleRef: 'swabbie' } : {}),
    limits: {
      maxMarks: shared.maxItems,
      maxDeletes: shared.maxItems,
      maxDeletePercent: 100,
      maxUnmarks: general.maxUnmarks,
      batchSize: shared.batchSize,
      deleteSpread: formatDuration(shared.spreadMs),
    },
    ...(name === 'image' ? { safety: { minInventory: general.floor } } : {}),
  }
  return cleanupPolicy.object({ name: `swabbie-aws-${name.toLowerCase()}` }, spec)
}

function actionsOf(type: Settings): NonNullable<CleanupPolicySpec['actions']> {
  const named = type.texts('enabledActions') ?? ['MARK', 'NOTIFY', 'DELETE']
  return named.map((name) => {
    const action = actionNames[name.toUpperCase() as keyof typeof actionNames]
    if (!action) throw new ConfigError(`${type.path}.enabledActions: unknown action "${name}"`)
    return action
  })
}

function rulesOf(type: Settings, { disabledDays, testIds }: Parts['general']): CleanupPolicySpec['rules'] {
  return type.parts('enabledRules').map((branch) => {
    const operator = (branch.text('operator') ?? 'OR').toUpperCase()
    if (operator !== 'OR' && operator !== 'AND') throw new ConfigError(`${branch.path}.operator must be OR or AND`)
    const description = branch.text('description')
    const rules = branch.parts('rules').map((rule) => {
      const name = rule.text('name') ?? ''
      const given = (rule.raw('parameters') ?? {}) as Record<string, unknown>
      const says = rule.text('description')
      const parameters = disabledRules.includes(name)
        ? { moreThanDays: disabledDays, ...given }
        : name === 'AlwaysCleanRule'
          ? { resourceIds: [...testIds] }
          : given
      return {
        name,
        ...(says ? { description: says } : {}),
        ...(Object.keys(parameters).length > 0 ? { parameters } : {}),
      }
    })
    return { operator, rules, ...(description ? { description } : {}) }
  })
}

function notificationOf(
  type: Settings,
  { hasSmtp, problems, notices }: PolicyContext,
): { readonly spec?: NonNullable<CleanupPolicySpec['notification']>; readonly owner: { readonly default?: string } } {
  const notification = type.part('notification')
  const enabled = notification.flag('enabled') ?? false
  const types = notification.texts('types') ?? ['EMAIL']
  const itemsPerMessage = notification.number('itemsPerMessage')
  const fallback = notification.text('defaultDestination')
  const texts = {
    optOutBaseUrl: notification.text('optOutBaseUrl'),
    resourceUrl: notification.text('resourceUrl'),
    docsUrl: notification.text('docsUrl'),
  }
  const owner = fallback ? { default: fallback } : {}
  if (!enabled) return { owner }
  const other = types.find((name) => name.toUpperCase() !== 'EMAIL')
  if (other) problems.push(`${notification.path}.types: unknown notification type "${other}"; only EMAIL is supported`)
  if (!hasSmtp) problems.push(`${notification.path}: notices by mail need a block "smtp" with host and from`)
  if (!fallback)
    notices.push(`${notification.path}: without defaultDestination, resources without an owner are never deleted`)
  if (texts.optOutBaseUrl)
    notices.push(
      `${notification.path}.optOutBaseUrl was the address of Gate: Sojourn now serves the opt-out links, so owners must reach Sojourn at this address`,
    )
  const urls = Object.fromEntries(Object.entries(texts).filter(([, value]) => value))
  return { owner, spec: { channels: ['swabbie-mail'], ...(itemsPerMessage ? { itemsPerMessage } : {}), ...urls } }
}

/** `applications: {web: team@example.org}`, or a list of name and email. */
function applicationsOf(settings: Settings): Readonly<Record<string, string>> | undefined {
  if (!settings.has('applications')) return undefined
  const raw = settings.raw('applications')
  if (!Array.isArray(raw)) return raw as Readonly<Record<string, string>>
  return Object.fromEntries(
    settings
      .parts('applications')
      .map((application) => [application.text('name') ?? '', application.text('email') ?? '']),
  )
}
