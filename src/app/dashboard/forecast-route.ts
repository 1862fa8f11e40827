import { isRecord } from '../../kube/basics/json.ts'
import type { Client } from '../../client/client.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { providerAccount } from '../../apis/provider-account.ts'
import type { KubeObject } from '../../kube/object.ts'
import { parseLongDuration } from '../../kube/time.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import {
  jsonBody,
  type Route,
  type RouteRequest,
  type RouteResponse,
  type RouteUser,
} from '../../runtime/http/route.ts'
import type { Config } from '../config/config.ts'
import type { forecastDocument as Documented } from '../../forecast/event.ts'
import { readAssumption, type Assumption } from '../../forecast/assumption.ts'
import { Turns } from './turns.ts'

export interface ForecastRoutePorts {
  /** A client with the rights of this user. */
  readonly clientAs: (user: RouteUser) => Client
  readonly clock: Clock
  readonly config: Config
}

const maxForMs = 366 * 86_400_000
/** A user waits for the answer: a shorter forecast in time is better than a whole one too late. */
const withinMs = 30_000

/**
 * `POST /sojourn/v1alpha1/forecast` with `{"for": "30d", "assume": ["merge:2h"]}`: a forecast from the objects that the caller may read,
 * with the manifests of `apply` applied to its copy of the cluster. It changes nothing. When it runs out of time, `until` says how far it got and `wanted` how far it should have gone. With
 * `accept: text/calendar` the answer is iCalendar.
 */
export function forecastRoute({ clientAs, clock, config }: ForecastRoutePorts): Route {
  const turns = new Turns('a forecast')
  return {
    method: 'POST',
    path: '/sojourn/v1alpha1/forecast',
    async handle({ user, body, headers }) {
      if (!user) return { status: 401, body: { message: 'authentication required: send a bearer token' } }
      const now = clock.now()
      const request = readRequest(body, now)
      if ('problem' in request) return { status: 400, body: { message: request.problem } }
      return turns.take(user, async () => {
        try {
          // Loaded on first use: a forecast needs most of the product, and many servers never run one.
          const { readSnapshot } = await import('../../forecast/cluster-snapshot.ts')
          const { forecastOnThread } = await import('../threads/forecast-thread.ts')
          const snapshot = await readSnapshot(clientAs(user))
          const guarded = { ...config, allowOutgoing: config.allowOutgoing ?? [] }
          const options = { config: guarded, now, forMs: request.forMs, assumptions: request.assumptions, withinMs }
          return await answer(await forecastOnThread({ snapshot, options }), headers)
        } catch (error) {
          if (error instanceof ConfigError) return { status: 400, body: { message: error.message } }
          throw error
        }
      })
    },
  }
}

async function answer(
  forecast: Parameters<typeof Documented>[0],
  headers: RouteRequest['headers'],
): Promise<RouteResponse> {
  const { forecastCalendar } = await import('../../forecast/calendar.ts')
  const { forecastDocument } = await import('../../forecast/event.ts')
  if (!headers.accept?.includes('text/calendar')) return { status: 200, body: forecastDocument(forecast) }
  return {
    status: 200,
    headers: { 'content-type': 'text/calendar; charset=utf-8' },
    body: forecastCalendar(forecast),
  }
}

interface ForecastRequest {
  readonly forMs: number
  readonly assumptions: readonly Assumption[]
}

function readRequest(body: string, now: number): ForecastRequest | { readonly problem: string } {
  const value = body.trim() === '' ? {} : jsonBody(body)
  if (!isRecord(value)) return { problem: 'the body must be an object: {"for": "30d"}' }
  const { for: text = '30d', assume = [], apply = [] } = value
  const forMs = typeof text === 'string' ? parseLongDuration(text) : undefined
  if (forMs === undefined || forMs <= 0 || forMs > maxForMs)
    return { problem: '"for" must be a duration of at most a year, such as "36h" or "30d"' }
  if (!Array.isArray(assume) || !assume.every((each) => typeof each === 'string'))
    return { problem: '"assume" must be a list, such as ["delete:configmap/team/old@2d", "merge:2h"]' }
  if (!Array.isArray(apply) || !apply.every(isManifest))
    return { problem: '"apply" must be a list of manifests with apiVersion, kind and metadata.name' }
  if (apply.some(({ kind }) => kind === providerAccount.kind))
    return {
      problem: '"apply" must not hold a ProviderAccount: the server has credentials that its author may not use',
    }
  const applied: Assumption = { assume: 'applied', at: now, from: 'the change', manifests: apply }
  try {
    const assumed = assume.map((each) => readAssumption(each, { now, readFile: refuseFile }))
    return { forMs, assumptions: [...assumed, ...(apply.length > 0 ? [applied] : [])] }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

function isManifest(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>
  return [apiVersion, kind, metadata?.name].every((text) => typeof text === 'string' && text !== '')
}

/** The server reads no files for callers. */
function refuseFile(path: string): string {
  throw new ConfigError(`"${path}" must begin with delete:, opt-out:, approve:, merge: or rollout:`)
}
