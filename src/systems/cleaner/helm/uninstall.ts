import { configMaps, secrets } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import { sentenceOf } from '../../../departures/door/because.ts'
import type { Door } from '../../../departures/door/door.ts'
import { kubeSubject } from '../../../departures/subjects/subject.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type ObjectRef,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { Release } from '../decision/model.ts'
import { decodeRelease, encodeRelease, releaseLabels, revisionOf, type ReleaseRecord } from './release-record.ts'
import { Hooks, withNamespace } from './hooks.ts'
import { planUninstall } from './uninstall-plan.ts'

export interface UninstallRequest {
  readonly client: Client
  readonly door: Door
  readonly clock: Clock
  /** The Cleaner that asks for it. */
  readonly by: ObjectRef
  readonly namespace: string
  readonly release: Release
}

/** The state of an uninstall. `waiting`: a hook is still running, or the Door holds an object; call again at `until`. */
export type UninstallResult =
  | { readonly result: 'uninstalled'; readonly warnings: readonly string[] }
  | { readonly result: 'absent' }
  | { readonly result: 'unreadable'; readonly message: string }
  | { readonly result: 'waiting'; readonly until?: number; readonly message: string }

/** The release records cannot be listed. */
export class RecordsUnavailable extends Error {
  override readonly name = 'RecordsUnavailable'
}

/**
 * Uninstalls a release without the helm binary: hooks, objects, records, in Helm's order. It never blocks: call it again until it returns
 * another result than `waiting`. The status in the newest record tells how far it is, also after a crash; that record is deleted last.
 */
export async function uninstall(request: UninstallRequest): Promise<UninstallResult> {
  const holders = await readHolders(request)
  const newest = holders.at(-1)
  if (!newest) return { result: 'absent' }
  const record = newestReadable(holders)
  if (!record) return { result: 'unreadable', message: `no revision of release ${request.release.name} can be decoded` }

  const { client, release } = request
  const work = new Uninstall(request, { releaseName: record.name, run: newest.metadata.uid })
  const plan = planUninstall(record)
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
  for (const holder of holders) await work.deleteRecord(holder)
  return work.waiting ?? { result: 'uninstalled', warnings: work.warnings }
}

/** Whether any of these releases has a record. A list that fails counts as a record: unknown means installed. */
export async function isAnyInstalled(
  client: Client,
  namespace: string,
  releases: readonly Release[],
): Promise<boolean> {
  const found = await Promise.all(
    releases.map((release) => readHolders({ client, namespace, release }).catch(() => undefined)),
  )
  return found.some((holders) => holders?.length !== 0)
}

/** All revisions of a release, oldest first. */
async function readHolders({
  client,
  namespace,
  release,
}: Pick<UninstallRequest, 'client' | 'namespace' | 'release'>): Promise<readonly StoredObject[]> {
  const kind = holderKind(release)
  const holders: StoredObject[] = []
  try {
    const options = { namespace, labelSelector: releaseLabels(release.name) }
    for await (const page of client.listAll(holderTypes[release.driver], options))
      for (const item of page.items) holders.push({ ...item, apiVersion: 'v1', kind })
  } catch (error) {
    throw new RecordsUnavailable((error as Error).message, { cause: error })
  }
  return holders.toSorted((left, right) => revisionOf(left) - revisionOf(right))
}

function newestReadable(holders: readonly StoredObject[]): ReleaseRecord | undefined {
  for (const holder of holders.toReversed()) {
    try {
      return decodeRelease(holder)
    } catch {
      // Fall back to the next older revision.
    }
  }
  return undefined
}

/** Stores the status in the record, so that a retry does not run finished hooks again. */
async function setStatus(
  client: Client,
  { holder, record, status }: { holder: StoredObject; record: ReleaseRecord; status: 'uninstalling' | 'uninstalled' },
): Promise<void> {
  const { name, namespace = '' } = holder.metadata
  const changed = { ...record, info: { ...record.info, status } }
  const body = { metadata: { labels: { status } }, data: { release: encodeRelease(changed, holder) } }
  await client.patch(typeOfHolder(holder), { namespace, name }, { type: 'merge', body })
}

class Uninstall {
  /** Objects that were kept or skipped, and why. */
  readonly warnings: string[] = []
  readonly hooks: Hooks
  #waiting: Extract<UninstallResult, { result: 'waiting' }> | undefined
  readonly #request: UninstallRequest

  constructor(request: UninstallRequest, of: { readonly releaseName: string; readonly run: string }) {
    this.#request = request
    this.hooks = new Hooks(
      { ...request, ...of },
      {
        warn: (message) => void this.warnings.push(message),
        wait: (message, until) => this.#wait(message, until),
        depart: (type, object) => this.#depart(type, object, 'helm-hook'),
      },
    )
  }

  /** The first reason to wait, if there is one. */
  get waiting(): Extract<UninstallResult, { result: 'waiting' }> | undefined {
    return this.#waiting
  }

  /** Deletes one object of the release, unless it belongs to another release. */
  async deleteResource(manifest: KubeObject): Promise<void> {
    const found = await this.#find(manifest)
    if (!found) return
    if (!this.#isOurs(found.object)) {
      this.warnings.push(`${describeRef(refOf(found.object))} was kept: it belongs to another release`)
      return
    }
    await this.#depart(found.type, found.object, 'helm-release')
  }

  /** Deletes a record, once everything else is deleted. */
  async deleteRecord(holder: StoredObject): Promise<void> {
    if (!this.#waiting) await this.#depart(typeOfHolder(holder), holder, 'helm-record')
  }

  #wait(message: string, until?: number): void {
    this.#waiting ??= { result: 'waiting', message, ...(until === undefined ? {} : { until }) }
  }

  async #depart(type: ResourceType, object: StoredObject, because: string): Promise<void> {
    const { client, door, by, clock } = this.#request
    const ref = refOf({
      ...object,
      apiVersion: type.group ? `${type.group}/${type.version}` : type.version,
      kind: type.kind,
    })
    // Already being deleted.
    if (object.metadata.deletionTimestamp) return
    const answer = await door.depart({
      subject: kubeSubject(client, type, ref),
      uid: object.metadata.uid,
      because,
      by: { system: 'cleaner', object: by },
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

  /**
   * Any tenant of the namespace can write a release record. So outside the namespace an object is deleted only if its own annotations
   * name this release, and inside it only if they name no other release.
   */
  #isOurs({ metadata }: StoredObject): boolean {
    const { namespace, release } = this.#request
    const name = metadata.annotations?.['meta.helm.sh/release-name']
    const releaseNamespace = metadata.annotations?.['meta.helm.sh/release-namespace']
    const namesRelease = name === release.name && releaseNamespace === namespace
    return metadata.namespace === namespace ? namesRelease || name === undefined : namesRelease
  }
}

const holderTypes: Readonly<Record<Release['driver'], ResourceType>> = {
  secret: secrets,
  configmap: configMaps,
}

function holderKind({ driver }: Release): string {
  return holderTypes[driver].kind
}

function typeOfHolder({ kind }: KubeObject): ResourceType {
  return kind === 'Secret' ? holderTypes.secret : holderTypes.configmap
}
