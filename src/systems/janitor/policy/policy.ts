import {
  cleanupPolicy,
  type CleanupPolicy,
  type CleanupPolicySpec,
  type KubernetesTarget,
} from '../../../apis/cleanup-policy.ts'
import type { OwnerReference } from '../../../kube/object.ts'
import { requirementsOf } from '../../../kube/selector.ts'
import { parseLongDuration, parseTime } from '../../../kube/time.ts'
import { compileExclusions, readsObjectAlone, type Excluder } from './exclusion.ts'
import { compileOwner, type OwnerResolver } from './owner.ts'
import type { Retention } from './retention.ts'
import { compileRules, type Problem, type RuleTree } from '../rules/rule-tree.ts'

export type Action = 'Mark' | 'Notify' | 'Delete'

/** Whether a deletion needs a confirmed notice: `off` sends none, `bestEffort` deletes even when sending failed. */
export type NoticeMode = 'off' | 'required' | 'bestEffort'

/**
 * A compiled policy: every default filled in, every duration a number, every pattern compiled. It mirrors the fields of
 * CleanupPolicy, hence their number.
 */
export interface CompiledPolicy {
  readonly name: string
  readonly uid: string
  readonly createdAt: number
  readonly generation: number
  readonly suspended: boolean
  readonly dryRun: boolean
  readonly actions: ReadonlySet<Action>
  readonly intervalMs: number
  readonly minAgeMs: number
  readonly unusedForMs: number | undefined
  readonly retention: Retention
  readonly retentionWithoutOwner: Retention
  readonly rules: RuleTree
  readonly exclude: Excluder
  /** No exclusion reads anything but the object itself. */
  readonly excludesByObjectAlone: boolean
  readonly owner: OwnerResolver
  readonly notices: {
    readonly mode: NoticeMode
    readonly channels: readonly string[]
    readonly itemsPerMessage: number
    /** Longest first. */
    readonly remindBeforeMs: readonly number[]
    readonly resourceUrl: string
    readonly docsUrl: string
    readonly optOutBaseUrl: string
  }
  readonly schedule: string | undefined
  readonly limits: {
    readonly maxMarks: number
    readonly maxDeletes: number
    readonly maxDeletePercent: number
    readonly maxUnmarks: number
    readonly batchSize: number
    readonly spreadMs: number
  }
  readonly safety: {
    readonly minInventory: number
    readonly maxEvidenceAgeMs: number
    readonly maxInventoryDropPercent: number
  }
  readonly deletion: NonNullable<CleanupPolicySpec['deletion']>
  readonly targets: CleanupPolicySpec['targets']
}

const dayMs = 86_400_000

/** Compiles a policy, or lists its problems by field: an invalid policy does nothing at all. */
export function compilePolicy({
  metadata,
  spec,
}: CleanupPolicy): CompiledPolicy | { readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const read = (field: string, text: string | undefined, fallback: number) => duration(problems, field, text, fallback)
  const retention = retentionOf(spec.retention, problems)
  const { notification, limits = {}, safety = {} } = spec
  const channels = notification?.channels ?? []
  checkTargets(spec, problems)
  const compiled: CompiledPolicy = {
    name: metadata.name,
    uid: metadata.uid,
    createdAt: parseTime(metadata.creationTimestamp) ?? 0,
    generation: metadata.generation ?? 0,
    suspended: spec.suspend ?? false,
    dryRun: spec.dryRun ?? false,
    actions: new Set(spec.actions ?? ['Mark', 'Notify', 'Delete']),
    intervalMs: Math.max(1000, read('spec.interval', spec.interval, 15 * 60_000)),
    minAgeMs: read('spec.minAge', spec.minAge, 14 * dayMs),
    unusedForMs: spec.unusedFor === undefined ? undefined : read('spec.unusedFor', spec.unusedFor, 0),
    retention,
    retentionWithoutOwner:
      spec.retentionWithoutOwner === undefined
        ? retention
        : { ms: read('spec.retentionWithoutOwner', spec.retentionWithoutOwner, 0) },
    rules: compileRules(spec.rules, problems, kindsOf(spec)),
    exclude: compileExclusions(spec.exclusions ?? [], problems),
    excludesByObjectAlone: readsObjectAlone(spec.exclusions ?? []),
    owner: compileOwner(spec.owner, problems),
    notices: {
      mode: noticeMode(notification),
      channels,
      itemsPerMessage: notification?.itemsPerMessage ?? 10,
      remindBeforeMs: (notification?.remindBefore ?? [])
        .map((text, index) => read(`spec.notification.remindBefore[${index}]`, text, 0))
        .toSorted((left, right) => right - left),
      resourceUrl: linkOf('resourceUrl', notification?.resourceUrl, problems),
      docsUrl: linkOf('docsUrl', notification?.docsUrl, problems),
      optOutBaseUrl: linkOf('optOutBaseUrl', notification?.optOutBaseUrl, problems),
    },
    schedule: spec.scheduleRef,
    limits: {
      maxMarks: limits.maxMarks ?? 100,
      maxDeletes: limits.maxDeletes ?? 10,
      maxDeletePercent: limits.maxDeletePercent ?? 25,
      maxUnmarks: limits.maxUnmarks ?? 250,
      batchSize: limits.batchSize ?? 5,
      spreadMs: read('spec.limits.deleteSpread', limits.deleteSpread, 0),
    },
    safety: {
      minInventory: safety.minInventory ?? 0,
      maxEvidenceAgeMs: read('spec.safety.maxEvidenceAge', safety.maxEvidenceAge, 3_600_000),
      maxInventoryDropPercent: safety.maxInventoryDropPercent ?? 50,
    },
    deletion: spec.deletion ?? {},
    targets: spec.targets,
  }
  return problems.length > 0 ? { problems } : compiled
}

/** What is deleted with a policy names it as its owner. */
export function ownerOf({ name, uid }: Pick<CompiledPolicy, 'name' | 'uid'>): OwnerReference {
  return { apiVersion: cleanupPolicy.apiVersion, kind: cleanupPolicy.kind, name, uid }
}

function noticeMode(notification: CleanupPolicySpec['notification']): NoticeMode {
  if ((notification?.channels ?? []).length === 0) return 'off'
  return notification?.required === false || notification?.onFailure === 'Proceed' ? 'bestEffort' : 'required'
}

function retentionOf(retention: CleanupPolicySpec['retention'], problems: Problem[]): Retention {
  if (retention?.businessDays !== undefined) {
    if (retention.duration !== undefined)
      problems.push({ field: 'spec.retention', problem: 'set either duration or businessDays, not both' })
    return { businessDays: retention.businessDays }
  }
  return { ms: duration(problems, 'spec.retention.duration', retention?.duration, 14 * dayMs) }
}

function duration(problems: Problem[], field: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const ms = parseLongDuration(text)
  if (ms !== undefined && ms >= 0) return ms
  problems.push({ field, problem: `"${text}" is not a duration such as 36h or 14d` })
  return fallback
}

/** The kinds and types that a policy targets. */
function kindsOf({ targets }: CleanupPolicySpec): readonly string[] {
  return targets.flatMap(({ kubernetes, aws }) => [
    ...(kubernetes?.resources ?? []).map(({ kind }) => kind),
    ...(aws?.resourceTypes ?? []),
  ])
}

function checkTargets({ targets }: CleanupPolicySpec, problems: Problem[]): void {
  targets.forEach(({ kubernetes, aws }, index) => {
    const field = `spec.targets[${index}]`
    if (!kubernetes === !aws) problems.push({ field, problem: 'set exactly one of kubernetes and aws' })
    if (kubernetes) checkKubernetes(kubernetes, `${field}.kubernetes`, problems)
  })
}

function checkKubernetes(
  { namespaces = {}, labelSelector }: KubernetesTarget,
  field: string,
  problems: Problem[],
): void {
  // A pattern would match no namespace, and so exclude nothing.
  for (const side of ['include', 'exclude'] as const)
    namespaces[side]?.forEach((name, index) => {
      if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name))
        problems.push({
          field: `${field}.namespaces.${side}[${index}]`,
          problem: `"${name}" is not the name of a namespace; patterns are for exclusions (type Literal, key namespace)`,
        })
    })
  try {
    requirementsOf(labelSelector ?? {})
  } catch (error) {
    problems.push({ field: `${field}.labelSelector`, problem: (error as Error).message })
  }
}

/** Links in notices are http(s): people click on them. */
function linkOf(field: string, url: string | undefined, problems: Problem[]): string {
  if (!url || /^https?:\/\//i.test(url)) return url ?? ''
  problems.push({ field: `spec.notification.${field}`, problem: `"${url}" must begin with https:// or http://` })
  return ''
}
