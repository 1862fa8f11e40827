import type { StoredObject } from '../../kube/object.ts'
import type { WatchEvent } from '../../kube/transport.ts'
import type { Watch, WatchEventText, WatchRequest, WatchSink } from './contract/request.ts'

const bufferLimit = 1000

/** A watch as an iterable of frozen objects, for callers in the same process. Ends when the signal aborts. */
export async function* watchEvents(
  objects: { watch(request: WatchRequest, sink: WatchSink): Watch },
  request: WatchRequest,
  signal?: AbortSignal,
): AsyncGenerator<WatchEvent<StoredObject>> {
  const buffer: WatchEventText[] = []
  let wake = () => {}
  let isOver = signal?.aborted ?? false
  const stop = () => {
    isOver = true
    wake()
  }
  const watch = objects.watch(request, {
    deliver(events) {
      buffer.push(...events)
      wake()
      return buffer.length < bufferLimit
    },
    end: stop,
  })
  signal?.addEventListener('abort', stop, { once: true })
  try {
    while (!signal?.aborted) {
      for (const { type, document } of buffer.splice(0)) yield { type, object: document.object }
      watch.resume()
      if (buffer.length > 0) continue
      if (isOver) return
      await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    watch.close()
  }
}
