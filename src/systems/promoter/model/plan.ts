import type {
  AppRef,
  EnvironmentSpec,
  Pipeline,
  PipelineSpec,
  PromotionSpec,
  PullRequestSpec,
} from '../../../apis/pipeline.ts'
import type { StrategyRecord } from '../../../apis/pipeline-status.ts'
import { parseLongDuration } from '../../../kube/time.ts'
import { parseRepositoryURL, repositoryURLForms } from '../../../git/repository-url.ts'
import { strategyHash, type BranchNaming } from './identity.ts'
import { parseWindow, type Window } from './windows.ts'

/** A pipeline's spec with every default filled in and every reference resolved. */
export interface Plan {
  /** Sorted so that each comes after those it depends on; revisions come from the first. */
  readonly environments: readonly EnvironmentPlan[]
  readonly suspended: boolean
  /** Resync interval. */
  readonly intervalMs: number
  /** How long a revision must stay unchanged before its run starts. */
  readonly quietPeriodMs: number
  /** A run starts after this time even if revisions keep changing. */
  readonly maxWaitMs: number
  readonly runPolicy: 'Restart' | 'Finish' | 'Pairwise'
  /** Restarts in a row after which a run must finish. */
  readonly maxRestarts: number
  readonly maxRunDurationMs: number | undefined
  readonly rollback: 'RequireApproval' | 'Follow' | 'Hold'
  readonly drift: 'Report' | 'Promote'
  readonly withdrawal: 'Close' | 'Orphan'
}

/** One environment of the plan. */
export interface EnvironmentPlan {
  readonly name: string
  /** Names of the environments that must be ready first; empty only for the first environment. */
  readonly dependsOn: readonly string[]
  readonly targets: readonly TargetPlan[]
  /** How many targets must be ready on the revision. */
  readonly requiredTargets: number
  /** How long the environments before must be ready on the revision. */
  readonly soakMs: number
  readonly windows: readonly Window[]
  readonly verification: VerificationPlan | undefined
  readonly rolloutDeadlineMs: number
  /** Undefined for the first environment, and where the spec configures no promotion. */
  readonly promotion: PromotionPlan | undefined
}

/** Checks that must pass before a promotion starts. */
export interface VerificationPlan {
  readonly checks: NonNullable<EnvironmentSpec['verification']>['checks']
  readonly intervalMs: number
  readonly deadlineMs: number
}

/** One application object that an environment consists of. */
export interface TargetPlan {
  /** `namespace/name` of the GitopsCluster; '' is the local cluster. */
  readonly cluster: string
  readonly namespace: string
  readonly app: AppRef
}

/** How revisions get into one environment. */
export interface PromotionPlan {
  readonly spec: PromotionSpec
  readonly strategy: StrategyRecord
  /** Part of the promotion's id: a changed destination is a new promotion. */
  readonly strategyHash: string
  readonly supersede: 'Replace' | 'Update' | 'Keep'
  readonly branchNaming: BranchNaming
  /** 0 means that no approval is needed. */
  readonly requiredApprovals: number
  /** Undefined: every user who may create Approvals. */
  readonly approvers: readonly string[] | undefined
  /** Undefined: an approval does not expire. */
  readonly approvalTtlMs: number | undefined
  /** A rejection closes the pause gate of every environment in the run. */
  readonly rejectClosesRun: boolean
}

/** A field of the spec is invalid in a way the schema cannot express. */
export class PlanError extends Error {
  override readonly name = 'PlanError'
  readonly field: string
  readonly problem: string
  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}

/** Reads a spec; throws PlanError when it is invalid. The result is cached by spec object, which is never modified. */
export function planOf(spec: PipelineSpec, namespace: string): Plan {
  const known = plans.get(spec)
  if (known?.namespace === namespace) return known.plan
  const plan = readPlan(spec, namespace)
  plans.set(spec, { namespace, plan })
  return plan
}

/** The plan of a pipeline, or what is wrong with its spec. */
export function tryPlan({ spec, metadata }: Pipeline): Plan | PlanError {
  try {
    return planOf(spec, metadata.namespace ?? '')
  } catch (error) {
    if (error instanceof PlanError) return error
    throw error
  }
}

/** The plan of a pipeline; undefined when its spec is invalid. */
export function validPlan(pipeline: Pipeline): Plan | undefined {
  const plan = tryPlan(pipeline)
  return plan instanceof PlanError ? undefined : plan
}

/** The plan of one environment; undefined when the spec is invalid or does not have it. */
export function environmentPlanOf(pipeline: Pipeline, name: string): EnvironmentPlan | undefined {
  return validPlan(pipeline)?.environments.find((environment) => environment.name === name)
}

const plans = new WeakMap<PipelineSpec, { readonly namespace: string; readonly plan: Plan }>()

function readPlan(spec: PipelineSpec, namespace: string): Plan {
  const environments = inOrder(spec, namespace)
  return {
    environments,
    suspended: spec.suspend ?? false,
    intervalMs: durationOf('spec.interval', spec.interval, 5 * minuteMs),
    quietPeriodMs: durationOf('spec.settle.quietPeriod', spec.settle?.quietPeriod, minuteMs),
    maxWaitMs: durationOf('spec.settle.maxWait', spec.settle?.maxWait, 15 * minuteMs),
    runPolicy: spec.runPolicy ?? 'Restart',
    maxRestarts: spec.maxRestarts ?? 3,
    maxRunDurationMs: optionalDuration('spec.maxRunDuration', spec.maxRunDuration),
    rollback: spec.rollback ?? 'RequireApproval',
    drift: spec.drift ?? 'Report',
    withdrawal: spec.withdrawal ?? 'Close',
  }
}

const minuteMs = 60_000
/** The longest duration Go can represent. */
const maxDurationMs = 292 * 365 * 24 * 60 * minuteMs

/** The environments, each after those it depends on. */
function inOrder(spec: PipelineSpec, namespace: string): EnvironmentPlan[] {
  if (spec.environments.length === 0) throw new PlanError('spec.environments', 'must not be empty')
  const plans = new Map<string, EnvironmentPlan>()
  spec.environments.forEach((environment, index) => {
    const field = `spec.environments[${index}]`
    if (plans.has(environment.name)) throw new PlanError(`${field}.name`, `"${environment.name}" is listed twice`)
    plans.set(environment.name, environmentPlan(spec, index, { field, namespace }))
  })
  return sortedByDependency(plans)
}

/** Depth-first topological sort; throws PlanError for a cycle or an unknown dependency. */
function sortedByDependency(plans: ReadonlyMap<string, EnvironmentPlan>): EnvironmentPlan[] {
  const sorted: EnvironmentPlan[] = []
  const state = new Map<string, 'open' | 'done'>()
  const visit = (plan: EnvironmentPlan) => {
    if (state.get(plan.name) === 'done') return
    if (state.get(plan.name) === 'open')
      throw new PlanError('spec.environments', `"${plan.name}" is part of a dependency cycle`)
    state.set(plan.name, 'open')
    for (const name of plan.dependsOn) {
      const dependency = plans.get(name)
      if (!dependency)
        throw new PlanError('spec.environments', `"${plan.name}" depends on "${name}", which does not exist`)
      visit(dependency)
    }
    state.set(plan.name, 'done')
    sorted.push(plan)
  }
  for (const plan of plans.values()) visit(plan)
  return sorted
}

function environmentPlan(
  spec: PipelineSpec,
  index: number,
  { field, namespace }: { readonly field: string; readonly namespace: string },
): EnvironmentPlan {
  const environment = spec.environments[index]!
  const targets = targetPlans(spec, environment, { field, namespace })
  const promotion = environment.promotion ?? spec.promotion
  return {
    name: environment.name,
    dependsOn: dependenciesOf(spec, index, field),
    targets,
    requiredTargets: requiredCount(environment.requireTargets, targets.length, `${field}.requireTargets`),
    soakMs: durationOf(`${field}.soak`, environment.soak, 0),
    windows: (environment.windows ?? []).map((window, at) => {
      const where = `${field}.windows[${at}]`
      const parsed = parseWindow(window, durationOf(`${where}.duration`, window.duration, 0))
      if (typeof parsed === 'string') throw new PlanError(where, parsed)
      return parsed
    }),
    verification: verificationPlan(environment.verification, `${field}.verification`),
    rolloutDeadlineMs: durationOf(`${field}.rolloutDeadline`, environment.rolloutDeadline, 30 * minuteMs),
    promotion: promotion && index > 0 ? promotionPlan(promotion, `${field}.promotion`) : undefined,
  }
}

function verificationPlan(verification: EnvironmentSpec['verification'], field: string): VerificationPlan | undefined {
  if (!verification) return undefined
  const { checks, interval, deadline } = verification
  checks.forEach(({ prometheus }, index) => {
    if (prometheus && !comparesSamples(prometheus.query))
      throw new PlanError(
        `${field}.checks[${index}].prometheus.query`,
        'must compare, as in `… < 0.01`, without bool: the check passes while the query returns a sample',
      )
  })
  return {
    checks,
    intervalMs: durationOf(`${field}.interval`, interval, minuteMs / 2),
    deadlineMs: durationOf(`${field}.deadline`, deadline, 10 * minuteMs),
  }
}

/** Whether a query filters its samples. Without a comparison, any data would pass. */
function comparesSamples(query: string): boolean {
  const code = query.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/g, '').replace(/\{[^}]*\}/g, '')
  return /[<>]|[=!]=/.test(code) && !/\bbool\b/.test(code)
}

/** The default dependency is the previous environment in the list. */
function dependenciesOf(spec: PipelineSpec, index: number, field: string): readonly string[] {
  const environment = spec.environments[index]!
  if (index === 0) {
    if (environment.dependsOn?.length)
      throw new PlanError(`${field}.dependsOn`, 'must be empty for the first environment')
    return []
  }
  const named = environment.dependsOn ?? [spec.environments[index - 1]!.name]
  if (named.length === 0)
    throw new PlanError(`${field}.dependsOn`, 'must not be empty: only the first environment has no dependencies')
  return named
}

/** The application of a target: its own, else the environment's, else the pipeline's. */
function targetPlans(
  spec: PipelineSpec,
  environment: EnvironmentSpec,
  { field, namespace }: { readonly field: string; readonly namespace: string },
): TargetPlan[] {
  if (environment.targets.length === 0) throw new PlanError(`${field}.targets`, 'must not be empty')
  const seen = new Set<string>()
  return environment.targets.map((target, index) => {
    const { clusterRef } = target
    const app = target.appRef ?? environment.appRef ?? spec.appRef
    const cluster = clusterRef ? `${clusterRef.namespace ?? namespace}/${clusterRef.name}` : ''
    const key = JSON.stringify([cluster, target.namespace, app.apiVersion, app.kind, app.name])
    if (seen.has(key)) throw new PlanError(`${field}.targets[${index}]`, 'is listed twice')
    seen.add(key)
    return { cluster, namespace: target.namespace, app }
  })
}

function promotionPlan(spec: PromotionSpec, field: string): PromotionPlan {
  const strategy = strategyRecord(spec, field)
  const pullRequest = spec.strategy['pull-request']
  const { approval } = spec
  return {
    spec,
    strategy,
    strategyHash: strategyHash(strategy),
    supersede: pullRequest?.supersede ?? 'Replace',
    branchNaming: branchNamingOf(pullRequest),
    requiredApprovals: approval ? (approval.required ?? 1) : spec.manual ? 1 : 0,
    approvers: approval?.approvers,
    approvalTtlMs: optionalDuration(`${field}.approval.ttl`, approval?.ttl),
    rejectClosesRun: approval?.rejectClosesRun ?? false,
  }
}

function branchNamingOf(pullRequest: PullRequestSpec | undefined): BranchNaming {
  if (pullRequest?.legacyBranchName) return 'legacy'
  return pullRequest?.supersede === 'Update' ? 'shared' : 'own'
}

/** What the status records of a strategy: enough to find a pull request after the spec has changed. */
function strategyRecord({ strategy }: PromotionSpec, field: string): StrategyRecord {
  const given = (['pull-request', 'commit', 'notification', 'webhook'] as const).filter((kind) => strategy[kind])
  const [kind] = given
  if (!kind || given.length > 1)
    throw new PlanError(`${field}.strategy`, 'must have exactly one of pull-request, notification, commit and webhook')
  if (kind === 'notification') return { kind }
  if (kind === 'webhook') {
    const { url, secretRef } = strategy.webhook!
    return { kind, url, ...(secretRef ? { secretName: secretRef.name } : {}) }
  }
  const repository = strategy[kind]!
  const { url, baseBranch, secretRef } = repository
  if (!parseRepositoryURL(url)) throw new PlanError(`${field}.strategy.${kind}.url`, `must be ${repositoryURLForms}`)
  const signingKey = repository.commit?.signingKeyRef?.name
  const common = {
    kind,
    url,
    baseBranch,
    secretName: secretRef.name,
    ...(signingKey ? { signingSecretName: signingKey } : {}),
  }
  if (!('type' in repository)) return common
  return { ...common, type: repository.type, ...(repository.apiURL ? { apiURL: repository.apiURL } : {}) }
}

/** How many targets `requireTargets` means, at most all of them. */
function requiredCount(required: number | string | undefined, total: number, field: string): number {
  if (required === undefined || required === 'All') return total
  const percent = /^(\d{1,3})%$/.exec(String(required))
  const count = percent ? Math.ceil((total * Number(percent[1])) / 100) : Number(required)
  if (!Number.isInteger(count) || count < 1)
    throw new PlanError(field, `"${required}" must be All, a number or a percentage`)
  return Math.min(count, total)
}

function durationOf(field: string, text: string | undefined, defaultMs: number): number {
  return optionalDuration(field, text) ?? defaultMs
}

function optionalDuration(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = parseLongDuration(text)
  if (ms === undefined || ms < 0 || ms > maxDurationMs)
    throw new PlanError(field, `"${text}" is not a duration such as 30s, 5m or 24h`)
  return ms
}
