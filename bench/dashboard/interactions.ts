import type { Page } from 'playwright-core'

/** One thing a person did, and how long until it was on the screen. */
export interface Interaction {
  readonly type: string
  readonly ms: number
}

/** Measures in the page, from when the browser got each input until the frame after it has been painted. */
export async function observeInteractions(page: Page): Promise<void> {
  await page.evaluate(`
    window.interactions = []
    const painted = (done) => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = done
      port2.postMessage(0)
    })
    for (const type of ['keydown', 'input', 'click', 'wheel', 'scroll', 'hashchange'])
      addEventListener(type, (event) => {
        const startedAt = type === 'hashchange' || type === 'scroll' ? performance.now() : event.timeStamp
        painted(() => window.interactions.push({ type, ms: performance.now() - startedAt }))
      }, { capture: true, passive: true })
  `)
}

/** What was measured so far. */
export function latencies(page: Page): Promise<readonly Interaction[]> {
  return page.evaluate('window.interactions')
}
