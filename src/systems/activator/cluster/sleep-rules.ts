import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { environmentClass, type EnvironmentClass } from '../../../apis/environment-class.ts'
import { sleepRuleOf, type SleepRule } from '../../../apis/environment-sleep.ts'
import { environment, type Environment } from '../../../apis/environment.ts'
import { workSchedule, type WorkSchedule } from '../../../apis/work-schedule.ts'
import { windowState } from '../../../apis/work-window.ts'
import { findCondition } from '../../../kube/conditions.ts'
import { namespaces } from '../../../kube/core-types.ts'
import { oldestOf, type StoredObject } from '../../../kube/object.ts'
import { matches, requirementsOf } from '../../../kube/selector.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { parseLongDuration, parseTime } from '../../../kube/time.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { downscalerRule, type ForeignRule, type ForeignWindow } from '../model/downscaler.ts'
import { sleepInfoRule, sleepInfos } from '../model/sleep-info.ts'
import { annotatedSleep, isExcluded, isNeverAsleep } from '../model/sleep-annotations.ts'

/** The sleep rule that applies to a workload. */
export interface AppliedRule {
  readonly rule: SleepRule
  /** The rule is one of the whole namespace: a request to any of its Services is a use of all its workloads. */
  readonly isGroup: boolean
  /** Whose hours count, where that is another tool's rule. */
  readonly foreign?: ForeignRule
}

/** Tools whose rules are read as they are. */
export const compatibleTools = ['downscaler', 'kube-green'] as const
export type CompatibleTool = (typeof compatibleTools)[number]

export interface SleepRulesPorts extends Pick<ProcessParts, 'client' | 'informers'> {
  /** Only this namespace is looked after: then annotations of workloads count, and nothing outside is read. */
  readonly namespace: string | undefined
  readonly compatibility: readonly CompatibleTool[]
  readonly now: () => number
  /** Rules of these namespaces may have changed; undefined for all. */
  readonly onChange: (namespace: string | undefined) => void
}

type Stored<T> = T & StoredObject

/** Finds the sleep rule of a workload: its own annotations, then those of its Namespace, then its Environment's class. */
export class SleepRules {
  readonly #namespaces: Informer | undefined
  readonly #schedules: Informer<Stored<WorkSchedule>> | undefined
  readonly #environments: Informer<Stored<Environment>> | undefined
  readonly #classes: Informer<Stored<EnvironmentClass>> | undefined

  readonly #sleepInfos: Informer | undefined
  readonly #ports: SleepRulesPorts

  constructor(ports: SleepRulesPorts) {
    const { client, informers, namespace, onChange, compatibility } = ports
    this.#ports = ports
    if (namespace !== undefined) return
    if (compatibility.includes('kube-green')) this.#sleepInfos = informers.open(client, sleepInfos)
    this.#sleepInfos?.subscribe(({ object }) => onChange(object.metadata.namespace))
    this.#namespaces = informers.open(client, namespaces, { metadataOnly: true })
    this.#schedules = informers.open(client, workSchedule.type)
    this.#environments = informers.open(client, environment.type)
    this.#classes = informers.open(client, environmentClass.type)
    this.#namespaces.subscribe(({ initial, object, previous }) => {
      const isAbout = [object, previous].some((each) => each && (annotatedSleep(each) || isExcluded(each)))
      const { name } = object.metadata
      // Its labels decide whether the class of its Environment counts.
      const hasRule = isAbout || compatibility.includes('downscaler') || this.#environmentOf(name) !== undefined
      if (!initial && hasRule) onChange(name)
    })
    this.#environments.subscribe(({ object }) => onChange(object.metadata.namespace))
    for (const cache of [this.#schedules, this.#classes])
      cache.subscribe(({ initial }) => initial || onChange(undefined))
    let known = ''
    const look = () => {
      const now = this.#all.map((cache) => `${cache.synced} ${cache.lastError?.message}`).join()
      if (known !== now) onChange(undefined)
      known = now
    }
    for (const cache of this.#all) {
      cache.onError(look)
      void cache.whenSynced().then(look, () => {})
    }
  }

  get #all(): readonly Informer[] {
    const all = [this.#namespaces, this.#schedules, this.#environments, this.#classes, this.#sleepInfos]
    return all.filter((cache) => cache !== undefined) as unknown as readonly Informer[]
  }

  /** Whether every rule for a namespace has been read; of a kind that is not installed there is none. */
  areKnownIn(namespace: string): boolean {
    return this.#all.every((cache) =>
      cache.synced ? !cache.errorIn(namespace) : isStatusError(cache.lastError, 'NotFound'),
    )
  }

  /** Undefined: no rule applies, or it is excluded from all. */
  of(object: StoredObject): AppliedRule | undefined {
    const { namespace = '', labels = {} } = object.metadata
    const space = this.#namespaces?.get('', namespace)
    if (isNeverAsleep(namespace) || isExcluded(object) || (space && isExcluded(space))) return undefined
    const own = annotatedSleep(object)
    const shared = space && annotatedSleep(space)
    const environmentRule = this.#environmentRule(namespace)
    if (!own && !shared && !environmentRule) return this.#foreignRule(object, space)
    if (environmentRule?.rule.exclude.some((selector) => matches(requirementsOf(selector), labels))) return undefined
    const base = environmentRule?.rule ?? noRule
    const rule: SleepRule = {
      ...base,
      awake: own?.awake ?? shared?.awake ?? base.awake,
      byHand: own?.byHand ?? shared?.byHand ?? base.byHand,
      // Without an Environment nothing says how long a new workload is needed: it comes in asleep.
      grace: environmentRule ? laterGrace(base.grace, object, environmentRule.graceMs) : noRule.grace,
    }
    return { rule, isGroup: shared !== undefined || environmentRule !== undefined }
  }

  /** Rules of other tools count where there is none of ours. */
  #foreignRule(object: StoredObject, space: StoredObject | undefined): AppliedRule | undefined {
    const { compatibility, now } = this.#ports
    const { namespace = '' } = object.metadata
    const infos = this.#sleepInfos?.list(namespace) ?? []
    const foreign =
      (compatibility.includes('downscaler') ? downscalerRule(space ? [object, space] : [object], now()) : undefined) ??
      sleepInfoRule(infos, object)
    if (!foreign) return undefined
    const grace = laterGrace(noRule.grace, object, foreign.graceMs ?? defaultGraceMs)
    return { rule: { ...noRule, awake: { schedule: '' }, grace }, isGroup: false, foreign }
  }

  /** Whether a rule applies to a namespace as a whole. */
  isGroup(namespace: string): boolean {
    const space = this.#namespaces?.get('', namespace)
    return (space !== undefined && annotatedSleep(space) !== undefined) || this.#environmentOf(namespace) !== undefined
  }

  /** How the awake hours of a rule stand. */
  windowOf({ rule: { awake }, foreign }: AppliedRule, now: number): ForeignWindow | 'missing' | undefined {
    if (foreign) return foreign.window(now)
    if (!awake) return undefined
    const hours = 'hours' in awake ? awake.hours : this.#schedules?.get('', awake.schedule)?.spec
    return hours ? windowState(hours, now) : 'missing'
  }

  close(): void {
    for (const cache of this.#all) cache.close()
  }

  #environmentRule(namespace: string): { readonly rule: SleepRule; readonly graceMs: number } | undefined {
    const found = this.#environmentOf(namespace)
    if (!found) return undefined
    const ofClass = this.#classes?.get('', found.spec.className)
    // Outside its selector a class counts only for an author who may delete the Namespace, which the environments' controller asks.
    const { labels } = this.#namespaces?.get('', namespace)?.metadata ?? {}
    const isSelected = ofClass && matches(requirementsOf(ofClass.spec.namespaceSelector), labels)
    if (isSelected === false && findCondition(found.status?.conditions, 'Ready')?.status !== 'True') return undefined
    const graceMs = parseLongDuration(ofClass?.spec.sleep?.grace ?? '') ?? defaultGraceMs
    return { rule: sleepRuleOf(ofClass, found), graceMs }
  }

  /** The oldest: a second one in a namespace is a duplicate. */
  #environmentOf(namespace: string): Stored<Environment> | undefined {
    return oldestOf(this.#environments?.list(namespace) ?? [])
  }
}

const defaultGraceMs = 900_000

const noRule: SleepRule = {
  idleAfterMs: undefined,
  awake: undefined,
  grace: { until: 0, because: 'new' },
  wakeOnDeploy: false,
  exclude: [],
  byHand: undefined,
  standing: 'in-force',
}

/** A workload that is new in a namespace has the same time as a new namespace. */
function laterGrace(grace: SleepRule['grace'], { metadata }: StoredObject, graceMs: number): SleepRule['grace'] {
  const until = (parseTime(metadata.creationTimestamp) ?? 0) + graceMs
  return until > grace.until ? { until, because: 'new' } : grace
}
