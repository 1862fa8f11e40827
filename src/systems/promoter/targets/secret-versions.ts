import type { Client } from '../../../client/client.ts'
import { secrets } from '../../../kube/core-types.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import type { SecretData } from '../repository/repository-access.ts'

/** Follows the versions of Secrets whose change retries a failed promotion. Keeps metadata only, never content. */
export class SecretVersions {
  readonly #informers: Informers
  readonly #client: Client
  readonly #onChange: (pipeline: string) => void
  /** One informer per Secret, by pipeline and Secret name. */
  readonly #uses = new Map<string, Map<string, Informer>>()

  constructor(ports: {
    readonly informers: Informers
    readonly client: Client
    readonly onChange: (pipeline: string) => void
  }) {
    this.#informers = ports.informers
    this.#client = ports.client
    this.#onChange = ports.onChange
  }

  /** Follows exactly these Secrets for a pipeline. */
  follow(pipeline: string, namespace: string, names: ReadonlySet<string>): void {
    const uses = this.#uses.get(pipeline) ?? new Map<string, Informer>()
    for (const [name, informer] of uses) {
      if (names.has(name)) continue
      informer.close()
      uses.delete(name)
    }
    for (const name of names) {
      if (uses.has(name)) continue
      const informer = this.#informers.open(this.#client, secrets, {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        metadataOnly: true,
      })
      informer.subscribe(() => this.#onChange(pipeline))
      uses.set(name, informer)
    }
    if (uses.size > 0) this.#uses.set(pipeline, uses)
    else this.#uses.delete(pipeline)
  }

  /** The resourceVersion of a followed Secret; '' while it is unknown or does not exist. */
  versionOf(pipeline: string, namespace: string, name: string): string {
    return this.#uses.get(pipeline)?.get(name)?.get(namespace, name)?.metadata.resourceVersion ?? ''
  }

  close(): void {
    for (const uses of this.#uses.values()) for (const informer of uses.values()) informer.close()
    this.#uses.clear()
  }
}

/** Reads and decodes a Secret; undefined when it does not exist. Called for each effect, so that nothing is cached. */
export async function readSecret(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
): Promise<SecretData | undefined> {
  const secret = await client
    .get<StoredObject & { readonly data?: Record<string, string> }>(secrets, place)
    .catch(ignoring('NotFound'))
  if (!secret) return undefined
  const entries = Object.entries(secret.data ?? {})
  return Object.fromEntries(entries.map(([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')]))
}
