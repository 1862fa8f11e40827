import { Agent } from 'node:http'
import { send } from '../../../runtime/http/http.ts'
import { backendsOf, portOf } from '../model/endpoints.ts'
import { backendId, type OnDemandService } from '../model/service-registry.ts'
import type { Address } from '../proxy/routing/route.ts'
import { podSlicesOf, type Caches } from './observe.ts'

/** What the pods of a Service report about their open connections. A pod that does not answer with a number is not idle. */
export type Activity =
  | { readonly is: 'idle' }
  | { readonly is: 'busy' }
  | { readonly is: 'unknown'; readonly why: string }

const probeTimeoutMs = 2000
const maxBytes = 1024
/** No connection stays open: a pod would count it. */
const agent = new Agent({ keepAlive: false })

/** Asks each pod of a Service how many connections it has open. Pods that are not ready may have some, too. */
export async function probeActivity(
  service: OnDemandService,
  { services, slices }: Pick<Caches, 'services' | 'slices'>,
): Promise<Activity> {
  const { namespace, settings } = service
  const backend = services.get(namespace, settings.backend)
  const port = backend && portOf(backend, settings.activityProbe?.port)
  if (!port || !settings.activityProbe) return { is: 'unknown', why: 'the Service has no such port' }
  const { addresses } = backendsOf(podSlicesOf(slices, backendId(service)), port, 'all')
  return probePods(addresses, settings.activityProbe.path)
}

/** Asks each pod how many connections or requests it has open: a plain number in the body of a 200. */
export async function probePods(pods: readonly Address[], path: string): Promise<Activity> {
  const answers = await Promise.all(pods.map((pod) => probe(pod, path)))
  if (answers.some((count) => typeof count === 'number' && count > 0)) return { is: 'busy' }
  const why = answers.find((count) => typeof count === 'string')
  return why === undefined ? { is: 'idle' } : { is: 'unknown', why }
}

/** The number, or why there is none. */
async function probe({ host, port }: Address, path: string): Promise<number | string> {
  const who = `${host}:${port}${path}`
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`
  const headers = { 'user-agent': 'sojourn-activity/1' }
  try {
    const answer = await send({ method: 'GET', url, headers, maxBytes, timeoutMs: probeTimeoutMs }, agent)
    if (answer.status !== 200) return `${who} answered ${answer.status}`
    return numberIn(answer.body.toString('utf8')) ?? `${who} answered with no number`
  } catch (error) {
    return `${who}: ${(error as Error).message}`
  }
}

function numberIn(text: string): number | undefined {
  return /^\s*[0-9]{1,9}\s*$/.test(text) ? Number(text) : undefined
}
