/** @import { EventType, ForecastEvent as Given } from '../src/forecast/event.ts' */
import { ApiError, ask, pause } from './api.js'
import { parseTime } from './time.js'

/** @typedef {Omit<Given, 'at' | 'leavesAt'> & { at: number, leavesAt?: string }} ForecastEvent */
/** @typedef {{ from: number, until: number, wanted?: string, objects: number, events: ForecastEvent[], assumed: string[], halts: string[], unread: string[] }} Forecast */

/** What an event is called, and its tone. @type {Record<EventType, [string, string]>} */
export const words = {
  assumed: ['assumed', 'plain'],
  marked: ['marked', 'warn'],
  told: ['owner told', 'warn'],
  spared: ['mark removed', 'good'],
  leaves: ['deleted', 'bad'],
  promotes: ['promoted', 'good'],
  waits: ['waits', 'warn'],
  arrives: ['arrives', 'good'],
  fails: ['fails', 'bad'],
  sleeps: ['falls asleep', 'calm'],
  wakes: ['wakes', 'good'],
  halts: ['deletions stop', 'bad'],
}

export const forecastPath = '/sojourn/v1alpha1/forecast'
const busyMs = 5000

/**
 * The server runs few forecasts and previews at once: retry while it is busy.
 * @param {() => Promise<any>} look
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function unlessBusy(look, signal) {
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error
      await pause(busyMs, signal)
      signal.throwIfAborted()
    }
  }
}

/** @param {{ for: string, assume?: string[], apply?: object[] }} body @param {AbortSignal} signal @returns {Promise<Forecast>} */
export async function lookAhead(body, signal) {
  const found = await unlessBusy(() => ask(forecastPath, { method: 'POST', body, signal }), signal)
  const timeOf = (/** @type {string} */ text) => parseTime(text) ?? 0
  const events = found.events.map((/** @type {any} */ event) => ({ ...event, at: timeOf(event.at) }))
  return { ...found, from: timeOf(found.from), until: timeOf(found.until), events }
}
