import type { IncomingMessage } from 'node:http'
import type { KillableServer } from './killable-server.ts'
import { isGone } from './writer.ts'

/** Watches, resumes where it was cut off, and notes what it hears. */
export class Watcher {
  readonly #path: string
  /** Where to go on: the newest revision heard of. */
  revision: number
  /** `123 MODIFIED a`, in the order heard, since the last `take`. */
  #heard: string[] = []
  #arrived: (() => void) | undefined
  #response: IncomingMessage | undefined

  constructor(path: string, revision: number) {
    this.#path = path
    this.revision = revision
  }

  /** Listens until the server is gone. */
  async listen(server: KillableServer): Promise<void> {
    try {
      const response = await server.open('GET', `${this.#path}&watch=true&resourceVersion=${this.revision}`)
      if (response.statusCode !== 200) throw new Error(`a watch was answered ${response.statusCode}`)
      this.#response = response
      let rest = ''
      for await (const chunk of response.setEncoding('utf8')) {
        const lines = (rest + (chunk as string)).split('\n')
        // The last line may be torn: what did not arrive whole was not heard.
        rest = lines.pop() ?? ''
        for (const line of lines) this.#take(line)
      }
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }

  /** Ends the connection from this side. */
  stop(): void {
    this.#response?.destroy()
  }

  /** Resolves once everything up to this revision was heard. */
  async until(revision: number): Promise<void> {
    while (this.revision < revision) await new Promise<void>((resolve) => (this.#arrived = resolve))
  }

  /** What was heard since the last time. */
  take(): readonly string[] {
    const heard = this.#heard
    this.#heard = []
    return heard
  }

  #take(line: string): void {
    const { type, object } = JSON.parse(line) as {
      type: string
      object: { metadata: { name?: string; resourceVersion: string }; message?: string }
    }
    const revision = Number(object.metadata.resourceVersion)
    if (type !== 'BOOKMARK') this.#heard.push(`${revision} ${type} ${object.metadata.name ?? object.message}`)
    if (revision > this.revision) this.revision = revision
    this.#arrived?.()
  }
}
