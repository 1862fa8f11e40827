import { configMaps } from '../../../kube/core-types.ts'
import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { cleanupPolicy, type CleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { notificationChannel, type NotificationChannel } from '../../../apis/notification-channel.ts'
import { providerAccount, type ProviderAccount } from '../../../apis/provider-account.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import { workSchedule, type WorkSchedule, type WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import { scheduleProblems } from '../../../apis/work-window.ts'
import type { Client } from '../../../client/client.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import { markOf } from '../decision/candidate.ts'
import { dueAt, isActive } from '../decision/decide.ts'
import type { NoticeItem } from '../../../notices/notice.ts'
import { channelProblem } from '../../../notices/open-channel.ts'
import { compilePolicy, type CompiledPolicy } from '../policy/policy.ts'
import type { ResourceRef } from '../verdict/provider.ts'
import type { Problem } from '../rules/rule-tree.ts'

/** The ConfigMap whose field `paused` takes every janitor out of service. */
export const switchesName = 'sojourn-janitor'

/** A valid policy with its schedule, or why it is invalid. */
export type Readiness =
  | { readonly ready: true; readonly policy: CompiledPolicy; readonly schedule: WorkScheduleSpec | undefined }
  | { readonly ready: false; readonly problems: readonly Problem[] }

/** The informers of the home cluster that the janitor reads, and compiled policies. */
export class JanitorCaches {
  readonly policies: Informer<CleanupPolicy>
  readonly candidates: Informer<CleanupCandidate>
  readonly optOuts: Informer<CleanupOptOut>
  readonly schedules: Informer<WorkSchedule>
  readonly channels: Informer<NotificationChannel>
  readonly accounts: Informer<ProviderAccount>
  readonly switches: Informer
  /** By name. Compiled once per generation, because each cycle writes a new version of the policy's status. */
  readonly #compiled = new Map<string, { readonly object: CleanupPolicy; readonly compiled: Compiled }>()

  constructor(client: Client, informers: Informers) {
    this.policies = informers.open<CleanupPolicy>(client, cleanupPolicy.type)
    this.candidates = informers.open<CleanupCandidate>(client, cleanupCandidate.type, {
      indexes: {
        work: ({ spec }) => [workIndex(spec.policy, spec.location)],
        policy: ({ spec }) => [spec.policy],
        resource: ({ spec }) => [resourceIndex(spec.resource)],
      },
    })
    this.optOuts = informers.open<CleanupOptOut>(client, cleanupOptOut.type)
    this.schedules = informers.open<WorkSchedule>(client, workSchedule.type)
    this.channels = informers.open<NotificationChannel>(client, notificationChannel.type)
    this.accounts = informers.open<ProviderAccount>(client, providerAccount.type)
    this.switches = informers.open(client, configMaps, {
      namespace: sojournNamespace,
      fieldSelector: `metadata.name=${switchesName}`,
    })
  }

  /** Whether every cache has synced and is being watched. */
  get current(): boolean {
    return this.#all().every(({ synced, lastError }) => synced && lastError === undefined)
  }

  /** Whether a human has paused the janitor. True also while that cannot be read. */
  get paused(): boolean {
    if (!this.switches.synced || this.switches.lastError) return true
    const data = (this.switches.get(sojournNamespace, switchesName)?.data ?? {}) as Readonly<Record<string, string>>
    return data.paused !== undefined && data.paused !== 'false'
  }

  marks(policy: string, location: string): readonly CleanupCandidate[] {
    return this.candidates.byIndex('work', workIndex(policy, location))
  }

  marksOfResource(resource: ResourceRef): readonly CleanupCandidate[] {
    return this.candidates.byIndex('resource', resourceIndex(resource))
  }

  /** The other policies with an active mark on the same resource, and their dates. */
  otherPolicies({ spec }: CleanupCandidate): NoticeItem['otherPolicies'] {
    return this.marksOfResource(spec.resource)
      .filter(({ spec: other, status }) => {
        const isSame = other.resource.uid === spec.resource.uid && other.policy !== spec.policy
        return isSame && isActive(status?.phase ?? 'Unmarked')
      })
      .map((other) => ({ name: other.spec.policy, deletionAt: dueAt(markOf(other))?.at }))
      .toSorted((left, right) => (left.name < right.name ? -1 : 1))
  }

  /** Compiles a policy and checks that everything it refers to exists. */
  readiness(object: CleanupPolicy): Readiness {
    const compiled = this.#compile(object)
    if ('problems' in compiled) return { ready: false, problems: compiled.problems }
    const schedule = compiled.schedule === undefined ? undefined : this.schedules.get('', compiled.schedule)
    const problems = [...this.#scheduleProblems(compiled, schedule), ...this.#missing(compiled)]
    if (problems.length > 0) return { ready: false, problems }
    return { ready: true, policy: compiled, schedule: schedule?.spec }
  }

  close(): void {
    for (const informer of this.#all()) informer.close()
  }

  #compile(object: CleanupPolicy): Compiled {
    const { name } = object.metadata
    const known = this.#compiled.get(name)
    if (known && hasSameSpec(known.object, object)) return known.compiled
    const compiled = compilePolicy(object)
    this.#compiled.set(name, { object, compiled })
    return compiled
  }

  #scheduleProblems({ schedule: name }: CompiledPolicy, schedule: WorkSchedule | undefined): readonly Problem[] {
    if (name === undefined) return []
    if (!schedule) return [{ field: 'spec.scheduleRef', problem: `WorkSchedule "${name}" does not exist` }]
    return scheduleProblems(schedule.spec).map(({ field, problem }) => ({
      field: 'spec.scheduleRef',
      problem: `WorkSchedule "${name}": ${field}: ${problem}`,
    }))
  }

  #missing({ notices, targets }: CompiledPolicy): readonly Problem[] {
    const channels = notices.channels.flatMap((name, index) => {
      const channel = this.channels.get('', name)
      const problem = channel ? channelProblem(channel) : 'does not exist'
      const field = `spec.notification.channels[${index}]`
      return problem === undefined ? [] : [{ field, problem: `NotificationChannel "${name}": ${problem}` }]
    })
    const accounts = targets.flatMap(({ aws }, target) =>
      (aws?.accounts ?? []).flatMap((name, index) =>
        this.accounts.get('', name)
          ? []
          : [
              {
                field: `spec.targets[${target}].aws.accounts[${index}]`,
                problem: `ProviderAccount "${name}" does not exist`,
              },
            ],
      ),
    )
    return [...channels, ...accounts]
  }

  #all(): readonly Informer[] {
    const all: readonly Informer<never>[] | readonly unknown[] = [
      this.policies,
      this.candidates,
      this.optOuts,
      this.schedules,
      this.channels,
      this.accounts,
      this.switches,
    ]
    return all as readonly Informer<StoredObject>[]
  }
}

type Compiled = ReturnType<typeof compilePolicy>

function hasSameSpec(one: CleanupPolicy, other: CleanupPolicy): boolean {
  if (one === other) return true
  return one.metadata.generation === other.metadata.generation && deepEqual(one.spec, other.spec)
}

function workIndex(policy: string, location: string): string {
  return `${policy}\n${location}`
}

function resourceIndex({ provider, cluster = '', kind, namespace = '', name }: ResourceRef): string {
  return [provider, cluster, kind.toLowerCase(), namespace, name].join('\n')
}
