import type { Client } from '../../client/client.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { parseLongDuration } from '../../kube/time.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { Route, RouteRequest, RouteResponse, RouteUser } from '../../runtime/http/route.ts'
import type { Config } from '../config/config.ts'
import type { forecastDocument as Documented } from '../../forecast/document.ts'
import { readAssumption, type Assumption } from '../../forecast/assumption.ts'

export interface ForecastRoutePorts {
  /** Acts as this user, with no more rights than theirs. */
  readonly clientAs: (user: RouteUser) => Client
  readonly clock: Clock
  readonly config: Config
}

const longestMs = 366 * 86_400_000
const mostAtOnce = 2
/** Somebody waits for the answer: better a part of it now than all of it when they have left. */
const withinMs = 30_000

/**
 * `POST /sojourn/v1alpha1/forecast` with `{"for": "30d", "assume": ["merge:2h"]}`: what will happen if nobody acts, from what the one who asks may see.
 * It changes nothing; a POST because it is work. Where that takes too long, `until` says how far it came and `wanted` how far it was to look. With `accept: text/calendar` the answer is iCalendar.
 */
export function forecastRoute({ clientAs, clock, config }: ForecastRoutePorts): Route {
  let running = 0
  return {
    method: 'POST',
    path: '/sojourn/v1alpha1/forecast',
    async handle({ user, body, headers }) {
      if (!user) return { status: 401, body: { message: 'sign in first' } }
      const now = clock.now()
      const wish = readWish(body, now)
      if ('problem' in wish) return { status: 400, body: { message: wish.problem } }
      if (running >= mostAtOnce)
        return { status: 429, headers: { 'retry-after': '5' }, body: { message: 'others look ahead just now' } }
      running++
      try {
        // Looking ahead takes much of the product, and most servers are never asked to.
        const { readWorld } = await import('../../forecast/world.ts')
        const { forecastOnThread } = await import('../forecast/forecast-thread.ts')
        const world = await readWorld(clientAs(user))
        const options = { config, now, forMs: wish.forMs, assumptions: wish.assumptions, withinMs }
        return await answer(await forecastOnThread({ world, options }), headers)
      } catch (error) {
        if (error instanceof ConfigError) return { status: 400, body: { message: error.message } }
        throw error
      } finally {
        running--
      }
    },
  }
}

async function answer(
  forecast: Parameters<typeof Documented>[0],
  headers: RouteRequest['headers'],
): Promise<RouteResponse> {
  const { forecastCalendar } = await import('../../forecast/calendar.ts')
  const { forecastDocument } = await import('../../forecast/document.ts')
  if (!headers.accept?.includes('text/calendar')) return { status: 200, body: forecastDocument(forecast) }
  return {
    status: 200,
    headers: { 'content-type': 'text/calendar; charset=utf-8' },
    body: forecastCalendar(forecast),
  }
}

interface Wish {
  readonly forMs: number
  readonly assumptions: readonly Assumption[]
}

function readWish(body: string, now: number): Wish | { readonly problem: string } {
  let wish: unknown
  try {
    wish = body.trim() === '' ? {} : JSON.parse(body)
  } catch {
    return { problem: 'the body must be JSON, such as {"for": "30d"}' }
  }
  if (typeof wish !== 'object' || wish === null || Array.isArray(wish))
    return { problem: 'the body must be an object: {"for": "30d"}' }
  const { for: text = '30d', assume = [] } = wish as { readonly for?: unknown; readonly assume?: unknown }
  const forMs = typeof text === 'string' ? parseLongDuration(text) : undefined
  if (forMs === undefined || forMs <= 0 || forMs > longestMs)
    return { problem: '"for" must be a duration of at most a year, such as "36h" or "30d"' }
  if (!Array.isArray(assume) || !assume.every((each) => typeof each === 'string'))
    return { problem: '"assume" must be a list, such as ["delete:configmap/team/old@2d", "merge:2h"]' }
  try {
    return { forMs, assumptions: assume.map((each) => readAssumption(each, { now, readFile: refuseFile })) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** A server reads nobody's files. */
function refuseFile(path: string): string {
  throw new ConfigError(`"${path}" is none of delete:, opt-out:, approve:, merge:, rollout:`)
}
