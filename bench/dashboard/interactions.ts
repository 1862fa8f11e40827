import type { CDPSession, Page } from 'playwright-core'

/** One user action: the time until it was on the screen, and the page's processor time in it. */
export interface Interaction {
  readonly what: string
  readonly ms: number
  readonly cpuMs: number
}

/** Performs user actions, and measures each from the input until the next painted frame. */
export class Hand {
  readonly done: Interaction[] = []
  readonly #page: Page
  readonly #devtools: CDPSession

  private constructor(page: Page, devtools: CDPSession) {
    this.#page = page
    this.#devtools = devtools
  }

  static async on(page: Page): Promise<Hand> {
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    await page.evaluate(listening)
    return new Hand(page, devtools)
  }

  /** The slowest of the events that the deed caused counts. */
  async does(what: string, deed: () => Promise<unknown>): Promise<void> {
    await this.#page.evaluate('window.interactions = []')
    const before = await this.#workedMs()
    await deed()
    const events = await this.#page.evaluate<number[]>(settled)
    const cpuMs = (await this.#workedMs()) - before
    this.done.push({ what, ms: Math.max(0, ...events), cpuMs })
  }

  /** Processor time of the page's main thread, independent of other load on the machine. */
  async #workedMs(): Promise<number> {
    const { metrics } = await this.#devtools.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
  }
}

const listening = `
  window.interactions = []
  window.painted = () => new Promise((resolve) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = resolve
    port2.postMessage(0)
  }))
  for (const type of ['keydown', 'input', 'click', 'wheel', 'scroll', 'hashchange'])
    addEventListener(type, async (event) => {
      const hasStamp = type !== 'hashchange' && type !== 'scroll'
      const startedAt = hasStamp ? event.timeStamp : performance.now()
      await window.painted()
      window.interactions.push(performance.now() - startedAt)
    }, { capture: true, passive: true })
`

const settled = `(async () => {
  await window.painted()
  await window.painted()
  return window.interactions
})()`
