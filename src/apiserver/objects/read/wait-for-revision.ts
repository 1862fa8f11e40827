import type { Clock } from '../../store/clock.ts'
import type { Store } from '../../store/store.ts'
import { tooLargeVersion } from '../contract/failures.ts'

const timeoutMs = 3000

/** Waits until this revision is durable; throws a 504 when the store does not reach it within three seconds. */
export async function waitForRevision(
  { store, clock }: { readonly store: Store; readonly clock: Pick<Clock, 'after'> },
  revision: number,
): Promise<void> {
  if (revision <= store.revision) return
  if (revision <= store.decidedRevision) return store.whenDurable(revision)
  await new Promise<void>((resolve, reject) => {
    const stop = store.subscribe(() => {
      if (store.revision < revision) return
      stop()
      cancel()
      resolve()
    })
    const cancel = clock.after(timeoutMs, () => {
      stop()
      reject(tooLargeVersion(revision, store.revision))
    })
  })
}
