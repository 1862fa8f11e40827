import type { KillableServer } from './killable-server.ts'

/** What an object is: the value last written, or undefined when it is not there. */
type State = number | undefined

/** Creates, changes and deletes one ConfigMap over and over, and knows what it was told. */
export class Writer {
  readonly name: string
  readonly #path: string
  /** What the server acknowledged last. */
  #known: State
  /** What may have become of the last write, if it was not answered. */
  #inDoubt: { readonly state: State } | undefined
  #value = 0
  /** The revisions of all acknowledged writes that left an event. */
  readonly revisions: number[] = []
  /** The newest of them. */
  revision = 0

  constructor(name: string, path: string) {
    this.name = name
    this.#path = path
  }

  /** Writes until the server is gone; calls back after each acknowledged write. */
  async work(server: KillableServer, acknowledged: () => void): Promise<void> {
    for (;;) {
      const state = this.#next()
      this.#inDoubt = { state }
      try {
        const { status, body } = await this.#write(server, state)
        if (status >= 300) throw new Error(`${this.name}: ${status} ${body}`)
        this.#known = state
        this.#inDoubt = undefined
        this.#note(body)
      } catch (error) {
        if (isGone(error)) return
        throw error
      }
      acknowledged()
    }
  }

  /** Reads the object back; a sentence when it is neither what was acknowledged nor what was in doubt. */
  async check(server: KillableServer): Promise<string | undefined> {
    const { status, body } = await server.ask('GET', `${this.#path}/${this.name}`)
    const found = status === 404 ? undefined : Number((JSON.parse(body) as { data: { value: string } }).data.value)
    const legal = [this.#known, ...(this.#inDoubt ? [this.#inDoubt.state] : [])]
    if (!legal.includes(found)) return `${this.name} was acknowledged as ${this.#known} and is ${found}`
    this.#known = found
    this.#inDoubt = undefined
    return undefined
  }

  /** A delete is answered without a revision. */
  #note(body: string): void {
    const { metadata } = JSON.parse(body) as { metadata?: { resourceVersion?: string } }
    if (metadata?.resourceVersion === undefined) return
    this.revision = Number(metadata.resourceVersion)
    this.revisions.push(this.revision)
  }

  /** Mostly changes, now and then a delete and with it a create. */
  #next(): State {
    return this.#known !== undefined && ++this.#value % 7 === 0 ? undefined : ++this.#value
  }

  #write(server: KillableServer, state: State) {
    const at = `${this.#path}/${this.name}`
    if (state === undefined) return server.ask('DELETE', at)
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: this.name },
      data: { value: String(state), padding: 'x'.repeat(500) },
    }
    return this.#known === undefined ? server.ask('POST', this.#path, object) : server.ask('PUT', at, object)
  }
}

/** Whether a request failed because its server was killed. */
export function isGone(error: unknown): boolean {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string }
  return /^(ECONN|EPIPE|ERR_STREAM|ERR_SSL)/.test(code) || /socket|cut off|aborted|premature/i.test(message)
}
