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
import { Hooks, placed } from './hooks.ts'
import { planUninstall } from './uninstall-plan.ts'

export interface UninstallRequest {
  readonly client: Client
  readonly door: Door
  readonly clock: Clock
  /** The Cleaner whose rule it is. */
  readonly by: ObjectRef
  readonly namespace: string
  readonly release: Release
}

/** How far an uninstall has come. `waiting`: nothing is wrong, but a hook is at work or not everything may leave now. */
export type UninstallResult =
  | { readonly result: 'uninstalled'; readonly warnings: readonly string[] }
  | { readonly result: 'absent' }
  | { readonly result: 'unreadable'; readonly message: string }
  | { readonly result: 'waiting'; readonly until?: number; readonly message: string }

/** Releases' records cannot even be looked for. */
export class RecordsUnavailable extends Error {
  override readonly name = 'RecordsUnavailable'
}

/**
 * Uninstalls a release without Helm: hooks, objects, records, in Helm's order. Never waits: call it again until it is done, also after a
 * crash at any point. The newest record says how far it has come and is the last to go.
 */
export async function uninstall(request: UninstallRequest): Promise<UninstallResult> {
  const holders = await readHolders(request)
  const newest = holders.at(-1)
  if (!newest) return { result: 'absent' }
  const record = newestReadable(holders)
  if (!record) return { result: 'unreadable', message: `no revision of release ${request.release.name} can be read` }

  const { client, release } = request
  const work = new Uninstall(request, { releaseName: record.name, run: newest.metadata.uid })
  const plan = planUninstall(record)
  const [before, after] = release.disableHooks ? [[], []] : [plan.before, plan.after]
  const { status } = record.info
  if (status !== 'uninstalled') {
    if (status !== 'uninstalling') {
      await work.hooks.run(before)
      if (work.waiting) return work.waiting
      await mark(client, { holder: newest, record, status: 'uninstalling' })
    }
    for (const object of plan.objects) await work.remove(object)
    if (work.waiting) return work.waiting
    await work.hooks.run(after)
    if (work.waiting) return work.waiting
    await mark(client, { holder: newest, record, status: 'uninstalled' })
  }
  await work.hooks.removeDone([...before, ...after])
  for (const holder of holders) await work.purge(holder)
  return work.waiting ?? { result: 'uninstalled', warnings: work.warnings }
}

/** Whether there is a record of any of these releases, or may be for all that can be known. */
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
      // An older revision tells what an unreadable newest one cannot.
    }
  }
  return undefined
}

/** From here on a second try does not do again what is done: hooks before the objects, then hooks after them. */
async function mark(
  client: Client,
  { holder, record, status }: { holder: StoredObject; record: ReleaseRecord; status: 'uninstalling' | 'uninstalled' },
): Promise<void> {
  const { name, namespace = '' } = holder.metadata
  const changed = { ...record, info: { ...record.info, status } }
  const body = { metadata: { labels: { status } }, data: { release: encodeRelease(changed, holder) } }
  await client.patch(typeOfHolder(holder), { namespace, name }, { type: 'merge', body })
}

class Uninstall {
  readonly warnings: string[] = []
  readonly hooks: Hooks
  /** What keeps this from being done in one go, the first of it. */
  waiting: Extract<UninstallResult, { result: 'waiting' }> | undefined
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
    if (!this.waiting) await this.#depart(typeOfHolder(holder), holder, 'helm-record')
  }

  #wait(message: string, until?: number): void {
    this.waiting ??= { result: 'waiting', message, ...(until === undefined ? {} : { until }) }
  }

  async #depart(type: ResourceType, object: StoredObject, because: string): Promise<void> {
    const { client, door, by, clock } = this.#request
    const ref = refOf({
      ...object,
      apiVersion: type.group ? `${type.group}/${type.version}` : type.version,
      kind: type.kind,
    })
    // On its way already: nothing is deleted twice.
    if (object.metadata.deletionTimestamp) return
    const answer = await door.depart({
      subject: kubeSubject(client, type, ref),
      uid: object.metadata.uid,
      because,
      by: { system: 'cleaner', object: by },
    })
    if (answer.result === 'refused') this.warnings.push(`${describeRef(ref)} was left: ${sentenceOf(answer)}`)
    if (answer.result === 'held') this.#wait(`${describeRef(ref)}: ${sentenceOf(answer)}`, answer.until)
    if (answer.result === 'stale') this.#wait(`${describeRef(ref)} has just changed`, clock.now() + 100)
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
      .get<StoredObject>(type, placeOf(placed(type, manifest, this.#request.namespace).metadata))
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
