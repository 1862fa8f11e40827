import { cleanupCandidate, type CleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupOptOut } from '../../src/apis/cleanup-opt-out.ts'
import { departure, type Departure } from '../../src/apis/departure.ts'
import type { Client } from '../../src/client/client.ts'
import type { KubeObject, OwnerReference, StoredObject } from '../../src/kube/object.ts'
import { configMaps, deployments, namespaces, pods } from '../../src/kube/core-types.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import { sleep, type Clock } from '../../src/runtime/time/clock.ts'
import { pipeline, type Pipeline } from '../../src/apis/pipeline.ts'
import { demoLabel, demoName, demoNamespace, previewCleaner, previewNamespace, pullRequest } from './environment.ts'

/** How long any step may take before the demo fails. */
const timeoutMs = 60_000
const lookEveryMs = 200

/** Why the demo cannot run here, as a sentence for its user. */
export class DemoError extends Error {
  override readonly name = 'DemoError'
}

/** The demo's preview environment on a cluster. */
export class Preview {
  readonly #client: Client
  readonly #clock: Clock
  /** Set once the namespace is made. */
  #owner: OwnerReference | undefined

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /** Creates the namespace. It owns the demo's cluster-scoped objects, which are deleted with it. */
  async begin(): Promise<void> {
    const { metadata } = await this.#client.create(namespaces, previewNamespace)
    this.#owner = { apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid }
  }

  get owner(): OwnerReference {
    if (!this.#owner) throw new Error('the preview has not begun')
    return this.#owner
  }

  async apply(...manifests: readonly KubeObject[]): Promise<void> {
    for (const manifest of manifests) {
      const served = await this.#client.discovery.typeOf(manifest)
      if (!served) throw new Error(`the server does not serve ${manifest.apiVersion} ${manifest.kind}`)
      await this.#client.apply(served, manifest, { force: true })
    }
  }

  /** Whether the environment exists; throws when a namespace of that name is not the demo's. */
  async isHere(): Promise<boolean> {
    const found = await this.#client.get<StoredObject>(namespaces, { name: demoNamespace }).catch(ignoring('NotFound'))
    if (found && found.metadata.labels?.[demoLabel] !== 'true')
      throw new DemoError(
        `namespace ${demoNamespace} exists and was not created by a demo: it is not touched. Delete or rename it first`,
      )
    return found !== undefined
  }

  /** Closes the pull request, so that the environment's own Cleaner ends it. */
  async merge(): Promise<void> {
    // The Cleaner too: an interrupted demo, or a restored namespace, may lack one.
    if (await this.isHere()) await this.apply(pullRequest('merged'), previewCleaner)
  }

  /** Ends the opt-out, as `sojourn opt-in` does. */
  async optIn(): Promise<void> {
    const body = { spec: { expiresAt: '1970-01-01T00:00:00Z' } }
    await this.#client
      .patch(cleanupOptOut.type, { name: demoName }, { type: 'merge', body })
      .catch(ignoring('NotFound'))
  }

  /** The status of the Pipeline. */
  async promotion(): Promise<Pipeline['status']> {
    const place = { namespace: demoNamespace, name: 'shop' }
    return (await this.#client.get<Pipeline>(pipeline.type, place)).status
  }

  /** How many pods the shop has. */
  async shopPods(): Promise<number> {
    const { items } = await this.#client.list(pods, { namespace: demoNamespace })
    return items.length
  }

  async isOnDemand(): Promise<boolean> {
    const found = await this.#client.get<StoredObject>(deployments, { namespace: demoNamespace, name: 'shop' })
    return found.metadata.labels?.proxless === 'true'
  }

  async hasConfigMap(name: string): Promise<boolean> {
    const place = { namespace: demoNamespace, name }
    return (await this.#client.get(configMaps, place).catch(ignoring('NotFound'))) !== undefined
  }

  /** The janitor's mark on a ConfigMap, if it has one. */
  async markOn(name: string): Promise<CleanupCandidate | undefined> {
    const { items } = await this.#client.list<CleanupCandidate>(cleanupCandidate.type)
    return items.find(({ spec }) => spec.resource.namespace === demoNamespace && spec.resource.name === name)
  }

  /** The newest departure record of an object of the demo. */
  async recordOf(kind: string, name: string): Promise<Departure | undefined> {
    const { items } = await this.#client.list<Departure>(departure.type)
    return items
      .filter(({ spec: { object, page } }) => object.kind === kind && object.name === name && !page)
      .filter(({ spec: { object } }) => object.namespace === undefined || object.namespace === demoNamespace)
      .toSorted((left, right) => (left.spec.recordedAt < right.spec.recordedAt ? 1 : -1))[0]
  }

  /** Polls until `look` finds something. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, signal?: AbortSignal): Promise<T> {
    const giveUpAt = this.#clock.monotonic() + timeoutMs
    for (;;) {
      const seen = await look()
      if (seen !== undefined && seen !== false) return seen
      if (this.#clock.monotonic() > giveUpAt)
        throw new DemoError(`waited a minute until ${what}: see "sojourn status -n ${demoNamespace}"`)
      await sleep(this.#clock, lookEveryMs, signal)
    }
  }
}
