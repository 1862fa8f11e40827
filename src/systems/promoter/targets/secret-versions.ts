import { secrets } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'

/** Versions of the few Secrets whose change may mend a failed promotion; their content is never kept. */
export class SecretVersions {
  readonly #informers: Informers
  readonly #client: Client
  readonly #changed: (pipeline: string) => void
  /** By pipeline, then by Secret. */
  readonly #uses = new Map<string, Map<string, Informer>>()

  constructor(ports: {
    readonly informers: Informers
    readonly client: Client
    readonly changed: (pipeline: string) => void
  }) {
    this.#informers = ports.informers
    this.#client = ports.client
    this.#changed = ports.changed
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
      informer.subscribe(() => this.#changed(pipeline))
      uses.set(name, informer)
    }
    if (uses.size > 0) this.#uses.set(pipeline, uses)
    else this.#uses.delete(pipeline)
  }

  /** The version of a followed Secret; '' while it is not known or not there. */
  versionOf(pipeline: string, namespace: string, name: string): string {
    return this.#uses.get(pipeline)?.get(name)?.get(namespace, name)?.metadata.resourceVersion ?? ''
  }

  close(): void {
    for (const uses of this.#uses.values()) for (const informer of uses.values()) informer.close()
    this.#uses.clear()
  }
}
