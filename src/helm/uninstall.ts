import type { Client } from '../client/client.ts'
import { sentenceOf } from '../departures/door/because.ts'
import type { DepartRequest, Door } from '../departures/door/door.ts'
import type { By } from '../departures/records/record.ts'
import { kubeSubject } from '../departures/subjects/subject.ts'
import { describeRef, refOf, type KubeObject, type ResourceType, type StoredObject, placeOf } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import type { Clock } from '../runtime/time/clock.ts'
import type { Refusal } from '../tenancy/act-as.ts'
import { encodeRelease, type ReadRelease } from './release-record.ts'
import { digestOf, newestReadable, readHolders, refusalToRead, typeOfHolder } from './release-holders.ts'
import {
  belongsToRelease,
  refusalOfPlan,
  refusalToDelete,
  withNamespace,
  type ReleaseActors,
} from './release-rights.ts'
import { Hooks } from './hooks.ts'
import { restorableRecord } from './restorable-record.ts'
import { planUninstall } from './uninstall-plan.ts'

export interface UninstallRequest extends ReleaseActors {
  readonly door: Door
  readonly clock: Clock
  /** The system that asks for it, and its object. */
  readonly by: By
  /** The uid of the object whose restore brings the release back. */
  readonly follows?: string | undefined
  /** Of the record that was decided about; any other is kept. Unset in decisions of older versions. */
  readonly digest?: string | undefined
}

/** The state of an uninstall. `waiting`: a hook is still running, or the Door holds an object; call again at `until`. */
export type UninstallResult =
  | { readonly result: 'uninstalled'; readonly warnings: readonly string[] }
  | { readonly result: 'absent' }
  | { readonly result: 'unreadable'; readonly message: string }
  /** The identity behind the Cleaner may not do what is left to do. */
  | { readonly result: 'refused'; readonly refusal: Refusal }
  | { readonly result: 'waiting'; readonly until?: number; readonly message: string }

/**
 * Uninstalls a release without the helm binary: hooks, objects, records, in Helm's order. It never blocks: call it again until it returns
 * another result than `waiting`. The status in the newest record tells how far it is, also after a crash; that record is deleted last.
 */
export async function uninstall(request: UninstallRequest): Promise<UninstallResult> {
  const unread = await refusalToRead(request)
  if (unread) return { result: 'refused', refusal: unread }
  const holders = await readHolders(request)
  const newest = holders.at(-1)
  if (!newest) return { result: 'absent' }
  const { record, fault } = await newestReadable(holders, request)
  if (!record)
    return { result: 'unreadable', message: `no revision of release ${request.release.name} can be read: ${fault}` }
  const { client, release, digest } = request
  if (digest !== undefined && digest !== digestOf(record))
    return { result: 'unreadable', message: `release ${release.name} has changed since the decision` }

  const work = new Uninstall(request, { releaseName: record.name, run: newest.metadata.uid })
  const plan = planUninstall(record)
  const refusal = await refusalOfPlan(request, { holders, plan })
  if (refusal) return { result: 'refused', refusal }
  const [before, after] = release.disableHooks ? [[], []] : [plan.before, plan.after]
  const { status } = record.info
  if (status !== 'uninstalled') {
    if (status !== 'uninstalling') {
      await work.hooks.run(before)
      if (work.waiting) return work.waiting
      await setStatus(client, { holder: newest, record, status: 'uninstalling' })
    }
    for (const object of plan.objects) await work.deleteResource(object)
    if (work.waiting) return work.waiting
    await work.hooks.run(after)
    if (work.waiting) return work.waiting
    await setStatus(client, { holder: newest, record, status: 'uninstalled' })
  }
  await work.hooks.deleteSucceeded([...before, ...after])
  for (const holder of holders) await work.deleteRecord(holder, { isNewest: holder === newest })
  return work.waiting ?? { result: 'uninstalled', warnings: work.warnings }
}

/** Stores the status in the record, so that a retry does not run finished hooks again. */
async function setStatus(
  client: Client,
  { holder, record, status }: { holder: StoredObject; record: ReadRelease; status: 'uninstalling' | 'uninstalled' },
): Promise<void> {
  const { name, namespace = '' } = holder.metadata
  const changed = { ...record, info: { ...record.info, status } }
  const body = { metadata: { labels: { status } }, data: { release: await encodeRelease(changed, holder) } }
  await client.merge(typeOfHolder(holder), { namespace, name }, body)
}

type Unfinished = Extract<UninstallResult, { result: 'waiting' | 'refused' }>

class Uninstall {
  /** Objects that were kept or skipped, and why. */
  readonly warnings: string[] = []
  readonly hooks: Hooks
  #waiting: Unfinished | undefined
  readonly #request: UninstallRequest

  constructor(request: UninstallRequest, of: { readonly releaseName: string; readonly run: string }) {
    this.#request = request
    this.hooks = new Hooks(
      { ...request, ...of },
      {
        warn: (message) => void this.warnings.push(message),
        wait: (message, until) => this.#wait(message, until),
        depart: (type, object) => this.#depart(type, object, { because: 'helm-hook' }),
        owns: (object) => belongsToRelease(object, request),
      },
    )
  }

  /** The first reason to wait, if there is one. */
  get waiting(): Unfinished | undefined {
    return this.#waiting
  }

  /** Deletes one object of the release, unless it belongs to another release. */
  async deleteResource(manifest: KubeObject): Promise<void> {
    const found = await this.#find(manifest)
    if (!found) return
    if (!belongsToRelease(found.object, this.#request)) {
      this.warnings.push(`${describeRef(refOf(found.object))} was kept: it belongs to another release`)
      return
    }
    await this.#depart(found.type, found.object, { because: 'helm-release' })
  }

  /** Deletes a record, once everything else is deleted. */
  async deleteRecord(holder: StoredObject, which: { readonly isNewest: boolean }): Promise<void> {
    if (this.#waiting) return
    const kept = await restorableRecord(holder, which)
    await this.#depart(typeOfHolder(holder), holder, { because: 'helm-record', ...kept })
  }

  #wait(message: string, until?: number): void {
    this.#waiting ??= { result: 'waiting', message, ...(until === undefined ? {} : { until }) }
  }

  async #depart(
    type: ResourceType,
    object: StoredObject,
    why: Pick<DepartRequest, 'because' | 'recordAs' | 'sealAs'>,
  ): Promise<void> {
    const { client, door, by, clock, follows } = this.#request
    const ref = refOf({
      ...object,
      apiVersion: type.group ? `${type.group}/${type.version}` : type.version,
      kind: type.kind,
    })
    // Already being deleted.
    if (object.metadata.deletionTimestamp) return
    const refusal = await refusalToDelete(this.#request, type, object)
    if (refusal) {
      this.#waiting ??= { result: 'refused', refusal }
      return
    }
    const asActor = kubeSubject(this.#request.actor.client, type, ref)
    const answer = await door.depart({
      subject: { ...kubeSubject(client, type, ref), remove: (options) => asActor.remove(options) },
      uid: object.metadata.uid,
      ...why,
      by,
      follows: why.because === 'helm-hook' ? undefined : follows,
    })
    if (answer.result === 'refused') this.warnings.push(`${describeRef(ref)} was kept: ${sentenceOf(answer)}`)
    if (answer.result === 'held') this.#wait(`${describeRef(ref)}: ${sentenceOf(answer)}`, answer.until)
    if (answer.result === 'stale')
      this.#wait(`${describeRef(ref)} changed while it was being deleted`, clock.now() + 100)
  }

  async #find(manifest: KubeObject): Promise<{ type: ResourceType; object: StoredObject } | undefined> {
    const { client } = this.#request
    const type = await client.discovery.typeOf(manifest)
    if (!type) {
      this.warnings.push(
        `${manifest.kind} ${manifest.metadata?.name ?? ''} was skipped: the cluster does not serve ${manifest.apiVersion} ${manifest.kind}`,
      )
      return undefined
    }
    const object = await client
      .get<StoredObject>(type, placeOf(withNamespace(type, manifest, this.#request.namespace).metadata))
      .catch(ignoring('NotFound'))
    return object ? { type, object } : undefined
  }
}
