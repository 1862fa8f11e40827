import type { Client } from '../../../client/client.ts'
import { sentenceOf } from '../../../departures/because.ts'
import type { Door } from '../../../departures/door.ts'
import { kubeSubject } from '../../../departures/subject.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type ObjectRef,
  type ResourceType,
  type StoredObject,
} from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { sleep, type Clock } from '../../../runtime/clock.ts'
import type { Release } from '../model.ts'
import { decodeRelease, encodeRelease, releaseLabels, revisionOf, type ReleaseRecord } from './release-record.ts'
import { planUninstall, type Hook } from './uninstall-plan.ts'

export interface UninstallRequest {
  readonly client: Client
  readonly door: Door
  readonly clock: Clock
  /** The Cleaner whose rule it is. */
  readonly by: ObjectRef
  readonly namespace: string
  readonly release: Release
  readonly signal: AbortSignal
}

/** How an uninstall ended. `held`: nothing is wrong, but not everything may leave now. */
export type UninstallResult =
  | { readonly result: 'uninstalled'; readonly warnings: readonly string[] }
  | { readonly result: 'absent' }
  | { readonly result: 'unreadable'; readonly message: string }
  | { readonly result: 'held'; readonly until?: number; readonly message: string }

/** Uninstalls a release without Helm: hooks, objects, records, in Helm's order. May be called again after a crash at any point. */
export async function uninstall(request: UninstallRequest): Promise<UninstallResult> {
  const holders = await readHolders(request)
  const newest = holders.at(-1)
  if (!newest) return { result: 'absent' }
  const record = newestReadable(holders)
  if (!record) return { result: 'unreadable', message: `no revision of release ${request.release.name} can be read` }

  const work = new Uninstall(request, record)
  const plan = planUninstall(record)
  const isUnderWay = record.info.status === 'uninstalling'
  if (record.info.status !== 'uninstalled') {
    if (!isUnderWay && !request.release.disableHooks) for (const hook of plan.before) await work.runHook(hook)
    if (!isUnderWay) await markUninstalling(request.client, newest, record)
    for (const object of plan.objects) await work.remove(object)
    if (work.held) return work.held
    if (!request.release.disableHooks) for (const hook of plan.after) await work.runHook(hook)
  }
  for (const holder of holders) await work.purge(holder)
  return work.held ?? { result: 'uninstalled', warnings: work.warnings }
}

/** All revisions of a release, oldest first. */
async function readHolders({ client, namespace, release }: UninstallRequest): Promise<readonly StoredObject[]> {
  const kind = holderKind(release)
  const holders: StoredObject[] = []
  for await (const page of client.listAll(holderTypes[release.driver], {
    namespace,
    labelSelector: releaseLabels(release.name),
  })) {
    for (const item of page.items) holders.push({ ...item, apiVersion: 'v1', kind })
  }
  return holders.toSorted((left, right) => revisionOf(left) - revisionOf(right))
}

function newestReadable(holders: readonly StoredObject[]): ReleaseRecord | undefined {
  for (const holder of holders.toReversed()) {
    try {
      return decodeRelease(holder)
    } catch {
      // An older revision tells what an unreadable newest one cannot.
    }
  }
  return undefined
}

/** From here on a second try does not run the hooks again. */
async function markUninstalling(client: Client, holder: StoredObject, record: ReleaseRecord): Promise<void> {
  const { name, namespace = '' } = holder.metadata
  const changed = { ...record, info: { ...record.info, status: 'uninstalling' } }
  const body = { metadata: { labels: { status: 'uninstalling' } }, data: { release: encodeRelease(changed, holder) } }
  const type = holder.kind === 'Secret' ? holderTypes.secret : holderTypes.configmap
  await client.patch(type, { namespace, name }, { type: 'merge', body })
}

class Uninstall {
  readonly warnings: string[] = []
  held: Extract<UninstallResult, { result: 'held' }> | undefined
  readonly #request: UninstallRequest
  readonly #record: ReleaseRecord

  constructor(request: UninstallRequest, record: ReleaseRecord) {
    this.#request = request
    this.#record = record
  }

  /** Deletes one object of the release, if it is the release's to delete. */
  async remove(manifest: KubeObject): Promise<void> {
    const found = await this.#find(manifest)
    if (!found) return
    if (!this.#isOurs(found.object)) {
      this.warnings.push(`${describeRef(refOf(found.object))} was left: it belongs to another release`)
      return
    }
    await this.#depart(found.type, found.object, 'helm-release')
  }

  async purge(holder: StoredObject): Promise<void> {
    if (this.held) return
    await this.#depart(holder.kind === 'Secret' ? holderTypes.secret : holderTypes.configmap, holder, 'helm-record')
  }

  /** Creates a hook's object and waits until it has done its work, as long as the release allows. */
  async runHook({ object, removeBefore, removeWhen }: Hook): Promise<void> {
    const { client } = this.#request
    const type = await client.discovery.typeOf(object)
    if (!type) return void this.warnings.push(`hook ${object.kind} was skipped: the cluster does not serve it`)
    const manifest = this.#placed(type, object)
    if (removeBefore) await this.#removeHook(type, manifest)
    await client.create(type, manifest).catch(ignoring('AlreadyExists'))
    const result = await this.#waitFor(type, manifest)
    if (removeWhen.includes(result)) await this.#removeHook(type, manifest)
    if (result === 'failed')
      throw new Error(`hook ${describeRef(refOf(manifest))} of release ${this.#record.name} failed`)
  }

  async #waitFor(type: ResourceType, manifest: KubeObject): Promise<'succeeded' | 'failed'> {
    const { client, clock, release, signal } = this.#request
    if (type.kind !== 'Job' && type.kind !== 'Pod') return 'succeeded'
    const deadline = clock.monotonic() + release.timeoutMs
    while (clock.monotonic() < deadline) {
      const object = await client.get<StoredObject>(type, placeOf(manifest))
      const result = resultOf(object)
      if (result) return result
      await sleep(clock, 500, signal)
    }
    throw new Error(`hook ${describeRef(refOf(manifest))} of release ${this.#record.name} did not finish in time`)
  }

  async #removeHook(type: ResourceType, manifest: KubeObject): Promise<void> {
    const { client } = this.#request
    const object = await client.get<StoredObject>(type, placeOf(manifest)).catch(ignoring('NotFound'))
    if (object) await this.#depart(type, object, 'helm-hook')
  }

  async #depart(type: ResourceType, object: StoredObject, because: string): Promise<void> {
    const { client, door, by } = this.#request
    const ref = refOf({
      ...object,
      apiVersion: type.group ? `${type.group}/${type.version}` : type.version,
      kind: type.kind,
    })
    const answer = await door.depart({
      subject: kubeSubject(client, type, ref),
      uid: object.metadata.uid,
      because,
      by: { system: 'cleaner', object: by },
    })
    if (answer.result === 'refused') this.warnings.push(`${describeRef(ref)} was left: ${sentenceOf(answer)}`)
    if (answer.result === 'held')
      this.held ??= {
        result: 'held',
        message: `${describeRef(ref)}: ${sentenceOf(answer)}`,
        ...(answer.until === undefined ? {} : { until: answer.until }),
      }
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
      .get<StoredObject>(type, placeOf(this.#placed(type, manifest)))
      .catch(ignoring('NotFound'))
    return object ? { type, object } : undefined
  }

  /**
   * A record is a Secret that any tenant of its namespace can write: beyond that namespace only what says itself that it is of
   * this release may go, and within it nothing that says it is of another.
   */
  #isOurs({ metadata }: StoredObject): boolean {
    const { namespace, release } = this.#request
    const name = metadata.annotations?.['meta.helm.sh/release-name']
    const home = metadata.annotations?.['meta.helm.sh/release-namespace']
    const claims = name === release.name && home === namespace
    return metadata.namespace === namespace ? claims || name === undefined : claims
  }

  #placed(type: ResourceType, manifest: KubeObject): KubeObject {
    if (!type.namespaced || manifest.metadata.namespace) return manifest
    return { ...manifest, metadata: { ...manifest.metadata, namespace: this.#request.namespace } }
  }
}

const holderTypes: Readonly<Record<Release['driver'], ResourceType>> = {
  secret: { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
  configmap: { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
}

function holderKind({ driver }: Release): string {
  return holderTypes[driver].kind
}

function placeOf({ metadata }: KubeObject): { name: string; namespace?: string } {
  return { name: metadata.name ?? '', ...(metadata.namespace ? { namespace: metadata.namespace } : {}) }
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
