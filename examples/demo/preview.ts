import { departure, type Departure } from '../../src/apis/departure.ts'
import { environmentClass } from '../../src/apis/environment-class.ts'
import type { Environment } from '../../src/apis/environment.ts'
import { ownEnvironment } from '../../src/app/operations/environments.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import type { Client } from '../../src/client/client.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { configMaps, deployments, events, namespaces, pods, secrets } from '../../src/kube/core-types.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import { sleep, type Clock } from '../../src/runtime/time/clock.ts'
import { demoLabel, demoName, demoNamespace } from './environment.ts'

/** How long any step may take before the demo fails; pull requests are read once a minute. */
const timeoutMs = 120_000
const lookEveryMs = 200

/** Why the demo cannot run here, as a sentence for its user. */
export class DemoError extends Error {
  override readonly name = 'DemoError'
}

/** What the demo creates; the class is last, as an interrupted demo is recognised by it. */
const created = [
  [namespaces, { name: demoNamespace }],
  [secrets, { namespace: 'sojourn-system', name: demoName }],
  [notificationChannel.type, { name: demoName }],
  [environmentClass.type, { name: demoName }],
] as const

/** The demo's environment on a cluster. */
export class Preview {
  readonly #client: Client
  readonly #clock: Clock

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
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

  /** Whether anything of an earlier demo is left. */
  async hasBegun(): Promise<boolean> {
    const found = await this.#client.get(environmentClass.type, { name: demoName }).catch(ignoring('NotFound'))
    return (await this.isHere()) || found !== undefined
  }

  /** Deletes everything that carries the demo's label, as `kubectl delete` does, however far the demo got. */
  async end(): Promise<void> {
    for (const [type, place] of created) {
      const found = await this.#client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
      if (found?.metadata.labels?.[demoLabel] !== 'true') continue
      const { uid } = found.metadata
      await this.#client.deleteObject(type, place, { uid }).catch(ignoring('NotFound', 'Conflict'))
    }
    await this.until('everything was deleted', async () => !(await this.hasBegun()))
  }

  async environment(): Promise<Environment | undefined> {
    return ownEnvironment(this.#client, demoNamespace)
  }

  /** The environment, once `is` holds for its status. */
  untilStatus(
    what: string,
    is: (status: NonNullable<Environment['status']>) => unknown,
    signal: AbortSignal,
  ): Promise<Environment> {
    const look = async () => {
      const found = await this.environment()
      return found?.status && is(found.status) ? found : undefined
    }
    return this.until(what, look, signal)
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

  async hasSettings(): Promise<boolean> {
    const place = { namespace: demoNamespace, name: 'settings' }
    return (await this.#client.get(configMaps, place).catch(ignoring('NotFound'))) !== undefined
  }

  /** The newest notice to the owner, which the channel writes as an Event. */
  async notice(): Promise<string | undefined> {
    const { items } = await this.#client.list<StoredObject & { message?: string; reason?: string }>(events)
    const of = (each: StoredObject) => (each as { involvedObject?: { name?: string } }).involvedObject?.name
    return items.filter((each) => of(each) === demoNamespace && /delet/i.test(each.message ?? '')).at(-1)?.message
  }

  /** The newest departure record of the environment. */
  async record(): Promise<Departure | undefined> {
    const { items } = await this.#client.list<Departure>(departure.type)
    return items
      .filter(({ spec: { object, page } }) => object.kind === 'Namespace' && object.name === demoNamespace && !page)
      .toSorted((left, right) => (left.spec.recordedAt < right.spec.recordedAt ? 1 : -1))[0]
  }

  /** Polls until `look` finds something. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, signal?: AbortSignal): Promise<T> {
    const giveUpAt = this.#clock.monotonic() + timeoutMs
    for (;;) {
      const seen = await look()
      if (seen !== undefined && seen !== false) return seen
      if (this.#clock.monotonic() > giveUpAt)
        throw new DemoError(`waited two minutes until ${what}: see "sojourn explain env/${demoNamespace}"`)
      await sleep(this.#clock, lookEveryMs, signal)
    }
  }
}
