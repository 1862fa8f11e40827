import type { ReleasePlace } from './release-holders.ts'
import type { ProcessParts } from '../runtime/process-parts.ts'
import { describeRef, refOf, type KubeObject, type ResourceType, type StoredObject, placeOf } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { isConditionTrue } from '../kube/conditions.ts'
import { parseTime } from '../kube/time.ts'
import { withNamespace } from './release-rights.ts'
import type { Hook } from './uninstall-plan.ts'

export interface HookContext extends ReleasePlace, Pick<ProcessParts, 'clock'> {
  /** Identifies this uninstall among earlier ones of the same release. */
  readonly run: string
  readonly releaseName: string
}

/** What hooks need from the uninstall they belong to. */
export interface HookSupport {
  readonly warn: (message: string) => void
  readonly wait: (message: string, until: number) => void
  readonly depart: (type: ResourceType, object: StoredObject) => Promise<void>
  /** Whether an object may belong to the release, by the rule for its objects. */
  readonly owns: (object: StoredObject) => boolean
}

/** On a hook's object: the uninstall that created it, so that no retry and no other replica creates it again. */
const runAnnotation = 'sojourn.dev/uninstall'
const minPollMs = 1000
const maxPollMs = 15_000

/** Runs the delete hooks of a release without blocking: the status of their objects tells how far they are. */
export class Hooks {
  readonly #context: HookContext
  readonly #support: HookSupport

  constructor(context: HookContext, support: HookSupport) {
    this.#context = context
    this.#support = support
  }

  /** Starts the first hook not started yet, and asks to wait while one is running. Throws when a hook fails or times out. */
  async run(hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks) if (!(await this.#isDone(hook))) return
  }

  /** Deletes the objects of hooks with the policy hook-succeeded. */
  async deleteSucceeded(hooks: readonly Hook[]): Promise<void> {
    for (const { object, deleteWhen } of hooks) {
      if (!deleteWhen.includes('succeeded')) continue
      const { type, manifest, found } = await this.#find(object)
      if (type && found && this.#isOurs(found)) await this.#support.depart(type, { ...manifest, ...found })
    }
  }

  async #isDone(hook: Hook): Promise<boolean> {
    const { actor, clock } = this.#context
    const { type, manifest, found } = await this.#find(hook.object)
    if (!type) {
      this.#support.warn(`hook ${manifest.kind} was skipped: the cluster does not serve this kind`)
      return true
    }
    if (found && !this.#support.owns(found)) {
      this.#support.warn(`hook ${describeRef(refOf(manifest))} was skipped: it belongs to another release`)
      return true
    }
    if (found && !this.#isOurs(found) && hook.deleteBefore) {
      await this.#support.depart(type, found)
      this.#support.wait(`an earlier ${describeRef(refOf(manifest))} must be deleted first`, clock.now() + minPollMs)
      return false
    }
    const object = found ?? (await actor.client.create<StoredObject>(type, this.#withRun(manifest)))
    return this.#hasEnded(hook, { type, object: { ...manifest, ...object } })
  }

  /** Whether a started hook has succeeded; asks to wait while it is running. */
  async #hasEnded(hook: Hook, { type, object }: { type: ResourceType; object: StoredObject }): Promise<boolean> {
    const { clock, release, releaseName } = this.#context
    const result = type.kind === 'Job' || type.kind === 'Pod' ? resultOf(object) : 'succeeded'
    if (result === 'succeeded') return true
    const name = `hook ${describeRef(refOf(object))} of release ${releaseName}`
    const now = clock.now()
    const startedAt = parseTime(object.metadata.creationTimestamp) ?? now
    const deadline = startedAt + release.timeoutMs
    if (result === undefined && now < deadline) {
      // Poll a long-running hook less often.
      const pollMs = Math.min(maxPollMs, Math.max(minPollMs, (now - startedAt) / 10))
      this.#support.wait(`${name} is running`, Math.min(deadline, now + pollMs))
      return false
    }
    await this.#reset(hook, type, object)
    throw new Error(result === 'failed' ? `${name} failed` : `${name} did not finish within its timeout`)
  }

  /** Makes the next attempt start the hook again. */
  async #reset({ deleteWhen }: Hook, type: ResourceType, object: StoredObject): Promise<void> {
    if (deleteWhen.includes('failed')) return this.#support.depart(type, object)
    const body = { metadata: { annotations: { [runAnnotation]: null } } }
    await this.#context.actor.client.merge(type, placeOf(object.metadata), body).catch(ignoring('NotFound'))
  }

  async #find(object: KubeObject) {
    const { client, namespace } = this.#context
    const type = await client.discovery.typeOf(object)
    const manifest = type ? withNamespace(type, object, namespace) : object
    const found = type && (await client.get<StoredObject>(type, placeOf(manifest.metadata)).catch(ignoring('NotFound')))
    return { type, manifest, found }
  }

  #isOurs({ metadata }: StoredObject): boolean {
    return metadata.annotations?.[runAnnotation] === this.#context.run
  }

  #withRun(manifest: KubeObject): KubeObject {
    const { metadata } = manifest
    const annotations = { ...metadata.annotations, [runAnnotation]: this.#context.run }
    return { ...manifest, metadata: { ...metadata, annotations } }
  }
}

/** How a Job or Pod ended; undefined while it is running. */
function resultOf({ kind, status }: StoredObject): 'succeeded' | 'failed' | undefined {
  const { phase, conditions = [] } = (status ?? {}) as {
    phase?: string
    conditions?: readonly { type: string; status: string }[]
  }
  if (kind === 'Pod') return phase === 'Succeeded' ? 'succeeded' : phase === 'Failed' ? 'failed' : undefined
  if (isConditionTrue(conditions, 'Complete')) return 'succeeded'
  return isConditionTrue(conditions, 'Failed') ? 'failed' : undefined
}
