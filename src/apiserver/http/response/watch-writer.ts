import type { ServerResponse } from 'node:http'
import type { Watch, WatchEventText, WatchSink } from '../../objects/contract/request.ts'
import type { Encoding } from './answer.ts'
import { protobufWatch } from './encoding.ts'
import type { Presentation } from './presentation.ts'
import { isClosed } from './response-writer.ts'

/** Bytes buffered for one slow watcher; beyond that the watch pauses and later reads on from the store's log. */
const bufferLimit = 1024 * 1024

/** Writes a watch as one JSON value per line, or as frames of protobuf. A client that does not read pauses only its own watch. */
export class WatchWriter implements WatchSink {
  readonly #response: ServerResponse
  readonly #as: Presentation
  readonly #isProtobuf: boolean
  #watch: Watch | undefined
  readonly #onStall: () => () => void
  readonly #onWrite: (size: number) => void
  #isFirst = true
  #clearStall: (() => void) | undefined

  /** `onStall` is called when the client stops reading; its result when the client reads on or disconnects. */
  constructor(
    response: ServerResponse,
    { as, encoding }: { readonly as: Presentation; readonly encoding?: Encoding | undefined },
    { onStall, onWrite }: { readonly onStall: () => () => void; readonly onWrite: (size: number) => void },
  ) {
    this.#response = response
    this.#as = as
    this.#isProtobuf = encoding === 'protobuf'
    this.#onStall = onStall
    this.#onWrite = onWrite
  }

  /** Connects the watch to the response: resumes it on drain, closes it with the response. */
  attach(watch: Watch): void {
    this.#watch = watch
    this.#response.on('drain', () => {
      const wasFull = this.#clearStall !== undefined
      this.#endStall()
      if (wasFull) watch.resume()
    })
    this.#response.once('close', () => {
      this.#endStall()
      watch.close()
    })
    // The client may have disconnected while the watch was opened.
    if (isClosed(this.#response)) watch.close()
  }

  deliver(events: readonly WatchEventText[]): boolean {
    const response = this.#response
    if (isClosed(response) || response.writableEnded) return false
    const lines =
      this.#as.isPlain && !this.#isProtobuf ? events.map(({ line }) => line) : events.map((event) => this.#line(event))
    response.cork()
    for (const line of lines) response.write(line)
    response.uncork()
    this.#onWrite(lines.reduce((sum, { length }) => sum + length, 0))
    if (response.writableLength < bufferLimit || !response.writableNeedDrain) return true
    this.#clearStall ??= this.#onStall()
    return false
  }

  end(): void {
    this.#watch?.close()
    this.#response.end()
  }

  #endStall(): void {
    this.#clearStall?.()
    this.#clearStall = undefined
  }

  #line(event: WatchEventText): string | Buffer {
    const object = this.#as.event(event, this.#isFirst)
    this.#isFirst = false
    const frame = this.#isProtobuf ? protobufWatch.frame(event.type, object) : undefined
    return frame ?? `${JSON.stringify({ type: event.type, object })}\n`
  }
}
