import { environmentClass as classKind, type EnvironmentClass } from '../../apis/environment-class.ts'
import { sleepRuleOf } from '../../apis/environment-sleep.ts'
import { environment as environmentKind, type Environment } from '../../apis/environment.ts'
import { notificationChannel, type NotificationChannel } from '../../apis/notification-channel.ts'
import { workSchedule, type WorkSchedule } from '../../apis/work-schedule.ts'
import { windowState } from '../../apis/work-window.ts'
import type { Client } from '../../client/client.ts'
import { deployments, namespaces, services, statefulSets } from '../../kube/core-types.ts'
import { oldestOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { matches } from '../../kube/selector.ts'
import { parseTime } from '../../kube/time.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Surroundings } from './decision/assess.ts'
import type { Observed } from './decision/facts.ts'
import { countedIn, roomIn, type Room } from './decision/limits.ts'
import { isExempt, readClass } from './decision/rules.ts'
import { recipientsOf } from './tell.ts'

export const dayMs = 86_400_000

/** On the Namespace, `"false"`: it gets no Environment. */
export const optOutAnnotation = 'sojourn.dev/environment'

/** What the caches show of environments, their classes and their Namespaces. */
export class EnvironmentsObserver {
  readonly environments: Informer<Environment>
  readonly classes: Informer<EnvironmentClass>
  readonly namespaces: Informer
  readonly workloads: readonly Informer[]
  readonly services: Informer
  readonly schedules: Informer<WorkSchedule>
  readonly channels: Informer<NotificationChannel>
  readonly #reads = new Map<string, { readonly version: string; readonly read: ReturnType<typeof readClass> }>()

  constructor(client: Client, informers: Informers) {
    const inNamespace = { indexes: { namespace: ({ metadata }: StoredObject) => [metadata.namespace ?? ''] } }
    this.environments = informers.open<Environment>(client, environmentKind.type, {
      indexes: {
        namespace: ({ metadata }) => [metadata.namespace ?? ''],
        class: ({ spec }) => [spec.className],
        recipient: recipientsOf,
      },
    })
    this.classes = informers.open<EnvironmentClass>(client, classKind.type)
    this.namespaces = informers.open(client, namespaces)
    this.workloads = [deployments, statefulSets].map((type: ResourceType) => informers.open(client, type, inNamespace))
    this.services = informers.open(client, services, inNamespace)
    this.schedules = informers.open<WorkSchedule>(client, workSchedule.type)
    this.channels = informers.open<NotificationChannel>(client, notificationChannel.type)
  }

  /** All that decisions are made from. */
  get sources(): readonly Pick<Informer, 'synced' | 'lastError' | 'errorIn'>[] {
    const named = [this.environments, this.classes, this.namespaces, this.services, this.schedules, this.channels]
    return [...named, ...this.workloads]
  }

  /** The oldest Environment of a Namespace: it decides. */
  self(namespace: string): Environment | undefined {
    return oldestOf(this.environments.byIndex('namespace', namespace))
  }

  /** The oldest class that selects a Namespace. */
  classFor({ metadata }: StoredObject): EnvironmentClass | undefined {
    if (isExempt(metadata.name) || metadata.annotations?.[optOutAnnotation] === 'false') return undefined
    const found = this.classes.list().filter((each) => {
      const { selector } = this.#read(each).rules
      return !each.metadata.deletionTimestamp && selector.length > 0 && matches(selector, metadata.labels)
    })
    return oldestOf(found)
  }

  /** Whether there is an Environment for a Namespace, or should be. */
  isConcerned(name: string): boolean {
    if (this.environments.byIndex('namespace', name).length > 0) return true
    const namespace = this.namespaces.get('', name)
    return namespace !== undefined && this.classFor(namespace) !== undefined
  }

  observe(environment: Environment, namespace: StoredObject): Observed {
    const { name } = namespace.metadata
    const found = this.classes.get('', environment.spec.className)
    const environmentClass = found?.metadata.deletionTimestamp ? undefined : found
    const read = environmentClass && this.#read(environmentClass)
    return {
      environment,
      namespace,
      environmentClass,
      rules: read && read.problems.length === 0 ? read.rules : undefined,
      workloads: this.workloads.flatMap((informer) => informer.byIndex('namespace', name)),
      services: this.services.byIndex('namespace', name),
    }
  }

  /** How the hours stand in which it is awake. */
  windowAt({ environmentClass, environment }: Observed): Surroundings['windowAt'] {
    const { awake } = sleepRuleOf(environmentClass, environment)
    const hours = awake && ('hours' in awake ? awake.hours : this.schedules.get('', awake.schedule)?.spec)
    return (at) => (hours ? windowState(hours, at) : awake && 'missing')
  }

  /** Who has room in a class. */
  room(environmentClass: EnvironmentClass, now: number): Room {
    const all = this.environments
      .byIndex('class', environmentClass.metadata.name)
      .filter((each) => this.self(each.metadata.namespace ?? '') === each)
    const { selector } = this.#read(environmentClass).rules
    const counted = countedIn(environmentClass, selector, all, (name) => this.namespaces.get('', name))
    return roomIn(environmentClass, counted, now)
  }

  /** The environments that are told about in one notice with this one: those of the same owner. */
  ofOwner(environment: Environment): readonly Environment[] {
    const recipients = recipientsOf(environment)
    const [first] = recipients
    if (first === undefined) return [environment]
    const isSame = (each: Environment) => recipientsOf(each).join() === recipients.join()
    return this.environments.byIndex('recipient', first).filter(isSame)
  }

  /** When the next notice about an environment may be sent: a day after the last to any of its recipients, however owners are combined. */
  mailAt(environment: Environment): number {
    const others = recipientsOf(environment).flatMap((each) => this.environments.byIndex('recipient', each))
    const told = [environment, ...others].map(({ status }) => parseTime(status?.lastToldAt) ?? -dayMs)
    return Math.max(...told) + dayMs
  }

  #read({ metadata, spec }: EnvironmentClass) {
    const known = this.#reads.get(metadata.name)
    if (known?.version === metadata.resourceVersion) return known.read
    const read = readClass(spec)
    this.#reads.set(metadata.name, { version: metadata.resourceVersion, read })
    return read
  }
}
