import type { Client } from '../../../client/client.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { Release } from '../decision/model.ts'
import type { Hook } from './uninstall-plan.ts'

export interface HookContext {
  readonly client: Client
  readonly clock: Clock
  readonly namespace: string
  /** What tells this uninstall from others before it. */
  readonly run: string
  readonly release: Release
  readonly releaseName: string
}

/** What hooks ask of the uninstall they belong to. */
export interface HookSupport {
  readonly warn: (message: string) => void
  readonly wait: (message: string, until: number) => void
  readonly depart: (type: ResourceType, object: StoredObject) => Promise<void>
}

/** On a hook's object: the uninstall that began it, so that one begun is not begun again, by whoever. */
const runAnnotation = 'sojourn.dev/uninstall'
const lookAgainMs = 1000
const longestPauseMs = 15_000

/** Runs a release's delete hooks without waiting for them: their objects say how far they are. */
export class Hooks {
  readonly #context: HookContext
  readonly #support: HookSupport

  constructor(context: HookContext, support: HookSupport) {
    this.#context = context
    this.#support = support
  }

  /** Begins the first hook that has not been, and says to wait while one is at work. Throws when one fails or takes too long. */
  async run(hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks) if (!(await this.#isDone(hook))) return
  }

  /** Takes hooks away that want to be gone once they have succeeded. */
  async removeDone(hooks: readonly Hook[]): Promise<void> {
    for (const { object, removeWhen } of hooks) {
      if (!removeWhen.includes('succeeded')) continue
      const { type, manifest, found } = await this.#find(object)
      if (type && found && this.#isOurs(found)) await this.#support.depart(type, { ...manifest, ...found })
    }
  }

  async #isDone(hook: Hook): Promise<boolean> {
    const { client, clock } = this.#context
    const { type, manifest, found } = await this.#find(hook.object)
    if (!type) {
      this.#support.warn(`hook ${manifest.kind} was skipped: the cluster does not serve it`)
      return true
    }
    if (found && !this.#isOurs(found) && hook.removeBefore) {
      await this.#support.depart(type, found)
      this.#support.wait(`an earlier ${describeRef(refOf(manifest))} has to go first`, clock.now() + lookAgainMs)
      return false
    }
    const object = found ?? (await client.create<StoredObject>(type, this.#begun(manifest)))
    return this.#hasEnded(hook, { type, object: { ...manifest, ...object } })
  }

  /** Whether a hook that was begun has succeeded; until then there is a time to look again. */
  async #hasEnded(hook: Hook, { type, object }: { type: ResourceType; object: StoredObject }): Promise<boolean> {
    const { clock, release, releaseName } = this.#context
    const result = type.kind === 'Job' || type.kind === 'Pod' ? resultOf(object) : 'succeeded'
    if (result === 'succeeded') return true
    const name = `hook ${describeRef(refOf(object))} of release ${releaseName}`
    const now = clock.now()
    const begunAt = parseTime(object.metadata.creationTimestamp) ?? now
    const deadline = begunAt + release.timeoutMs
    if (result === undefined && now < deadline) {
      // The longer it has been at work, the less a moment matters.
      const pauseMs = Math.min(longestPauseMs, Math.max(lookAgainMs, (now - begunAt) / 10))
      this.#support.wait(`${name} is at work`, Math.min(deadline, now + pauseMs))
      return false
    }
    await this.#giveUp(hook, type, object)
    throw new Error(result === 'failed' ? `${name} failed` : `${name} did not finish in time`)
  }

  /** So that the next try begins it anew. */
  async #giveUp({ removeWhen }: Hook, type: ResourceType, object: StoredObject): Promise<void> {
    if (removeWhen.includes('failed')) return this.#support.depart(type, object)
    const body = { metadata: { annotations: { [runAnnotation]: null } } }
    await this.#context.client
      .patch(type, placeOf(object.metadata), { type: 'merge', body })
      .catch(ignoring('NotFound'))
  }

  async #find(object: KubeObject) {
    const { client, namespace } = this.#context
    const type = await client.discovery.typeOf(object)
    const manifest = type ? placed(type, object, namespace) : object
    const found = type && (await client.get<StoredObject>(type, placeOf(manifest.metadata)).catch(ignoring('NotFound')))
    return { type, manifest, found }
  }

  #isOurs({ metadata }: StoredObject): boolean {
    return metadata.annotations?.[runAnnotation] === this.#context.run
  }

  #begun(manifest: KubeObject): KubeObject {
    const { metadata } = manifest
    const annotations = { ...metadata.annotations, [runAnnotation]: this.#context.run }
    return { ...manifest, metadata: { ...metadata, annotations } }
  }
}

/** A manifest with the namespace it goes to. */
export function placed(type: ResourceType, manifest: KubeObject, namespace: string): KubeObject {
  if (!type.namespaced || manifest.metadata.namespace) return manifest
  return { ...manifest, metadata: { ...manifest.metadata, namespace } }
}

/** Whether a Job or Pod has ended, and how. */
function resultOf({ kind, status }: StoredObject): 'succeeded' | 'failed' | undefined {
  const { phase, conditions = [] } = (status ?? {}) as {
    phase?: string
    conditions?: readonly { type: string; status: string }[]
  }
  if (kind === 'Pod') return phase === 'Succeeded' ? 'succeeded' : phase === 'Failed' ? 'failed' : undefined
  const isTrue = (type: string) =>
    conditions.some((condition) => condition.type === type && condition.status === 'True')
  return isTrue('Complete') ? 'succeeded' : isTrue('Failed') ? 'failed' : undefined
}
