import { isAllowed } from '../../client/access-review.ts'
import type { Client } from '../../client/client.ts'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { percentDecoded } from '../../kube/basics/percent-decoded.ts'
import { namespaces } from '../../kube/core-types.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { ApiRequest, ApiResponse, Transport } from '../../kube/transport.ts'
import { Serializer } from '../../runtime/controller/serializer.ts'
import { jsonBody, type Route, type RouteRequest, type RouteUser } from '../../runtime/http/route.ts'
import type { PagePorts } from './page-ports.ts'

const signInFirst = { status: 401, body: { message: 'Sign in first.' } }

/** A page watches on three connections, and asks for its rights beside that. */
const maxReads = 24
const maxItems = 500

/** The Kubernetes API with the rights of the user, read-only, without Secrets and subresources such as logs, proxies and tokens. */
export function readRoutes(transportOf: (user: RouteUser) => Transport): readonly Route[] {
  /** Reads under way, by user: one user's never keep the others waiting. */
  const running = new Map<string, number>()
  const begin = (name: string) => {
    const count = running.get(name) ?? 0
    if (count >= maxReads) return undefined
    running.set(name, count + 1)
    return () => {
      const rest = (running.get(name) ?? 1) - 1
      if (rest === 0) running.delete(name)
      else running.set(name, rest)
    }
  }
  /** Lists may be large, and are kept until the browser has taken them: a user has one at a time. */
  const lists = new Serializer()
  const inTurn = async (name: string, ask: () => Promise<ApiResponse>): Promise<ApiResponse> => {
    const [answered, taken] = [Promise.withResolvers<ApiResponse>(), Promise.withResolvers<void>()]
    void lists.run(name, async () => {
      const asked = ask()
      answered.resolve(asked)
      if (
        await asked.then(
          () => true,
          () => false,
        )
      )
        await taken.promise
    })
    const { body, ...answer } = await answered.promise
    return { ...answer, body: undefined, stream: endingWith([body], taken.resolve) }
  }
  const route = (method: 'GET' | 'POST', path: RegExp): Route => ({
    method,
    path,
    // The API server authorizes the request itself.
    authenticated: false,
    async handle({ url, query, headers: { accept = '' }, body, user }) {
      if (!user) return signInFirst
      const path = url.split('?')[0] ?? ''
      if (method === 'GET' && !isReadable(path))
        return { status: 403, body: { message: 'The dashboard does not pass this on.' } }
      const sent = method === 'POST' ? { body: jsonBody(body) } : { query: bounded(query) }
      const end = begin(user.name)
      if (!end) return { status: 429, headers: { 'retry-after': '1' }, body: { message: 'Too many reads at once.' } }
      const request: ApiRequest = { method, path, headers: { accept, 'content-type': 'application/json' }, ...sent }
      const ask = () => transportOf(user)(request)
      const isList = method === 'GET' && !('watch' in (request.query ?? {}))
      const asked = isList ? inTurn(user.name, ask) : ask()
      const {
        status,
        stream,
        body: answer,
      } = await asked.catch((error: unknown) => {
        end()
        throw error
      })
      if (!stream) end()
      return {
        status,
        headers: { 'content-type': 'application/json', 'x-accel-buffering': 'no' },
        body: stream ? endingWith(stream, end) : answer,
      }
    },
  })
  const reviews = /^\/apis\/auth(?:entication|orization)\.k8s\.io\/v1\/selfsubject(?:access)?reviews$/
  return [route('GET', /^\/apis?(?:\/|$)/), route('POST', reviews)]
}

/** A watch ends with its timeout, also for a browser that left without a word; a list has pages. */
function bounded({ watch, timeoutSeconds, limit, ...query }: RouteRequest['query']): Record<string, string> {
  const within = (text: string | undefined, most: number) => String(Math.min(most, Number(text) || most))
  if (watch === undefined || /^(?:0|f|false|)$/i.test(watch)) return { ...query, limit: within(limit, maxItems) }
  return { ...query, watch: 'true', timeoutSeconds: within(timeoutSeconds, 60) }
}

async function* endingWith(
  stream: AsyncIterable<unknown> | Iterable<unknown>,
  end: () => void,
): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* stream
  } finally {
    end()
  }
}

/** Judges the path as the API server reads it: decoded. */
export function isReadable(path: string): boolean {
  const segments = path.split('/').slice(1).map(percentDecoded)
  if (segments.some((segment) => segment === undefined || /^\.{0,2}$|\//.test(segment))) return false
  const own = segments.slice(segments[0] === 'api' ? 2 : 3)
  const isInside = own[0] === 'namespaces' && own.length > 2
  const [resource = '', , subresource] = isInside ? own.slice(2) : own
  // `watch` is the older way to watch a resource that is named behind it.
  return resource !== 'secrets' && resource !== 'watch' && subresource === undefined
}

const namesMs = 30_000
/** Where there are many, the answer is kept for longer: 2,000 for two minutes. */
const eachMs = 60
const maxNames = 5000
const list = { verb: 'list', group: 'sojourn.dev', resource: 'environments' }
/** `GET /sojourn/v1alpha1/namespaces`: those whose environments the user may list. */
export function namespacesRoute({ clientAs, own, clock }: PagePorts): Route {
  /** Each costs a review of every namespace. */
  const known = new BoundedMap<string, { until: number; readonly names: Promise<readonly string[]> }>(1000)
  return {
    method: 'GET',
    path: '/sojourn/v1alpha1/namespaces',
    authenticated: false,
    async handle({ user }) {
      if (!user) return signInFirst
      const key = JSON.stringify([user.name, user.groups])
      const before = known.get(key)
      if (before && clock.now() <= before.until) return { status: 200, body: { names: await before.names } }
      const asked = namesFor(clientAs(user), own)
      const found = { until: Infinity, names: asked.then(({ names }) => names) }
      known.set(key, found)
      asked.then(
        ({ of }) => (found.until = clock.now() + Math.max(namesMs, of * eachMs)),
        () => known.delete(key),
      )
      return { status: 200, body: { names: await found.names } }
    },
  }
}

/** The names of those that the user may list, and of how many. */
async function namesFor(client: Client, own: Client): Promise<{ names: readonly string[]; of: number }> {
  const all = await allNames(client).catch((error: unknown) => {
    if (isStatusError(error, 'Forbidden')) return allNames(own)
    throw error
  })
  const names: string[] = []
  for (let from = 0; from < all.length; from += 20) {
    const some = all.slice(from, from + 20)
    const mayList = await Promise.all(
      some.map((namespace) => isAllowed(client, { resourceAttributes: { ...list, namespace } })),
    )
    names.push(...some.filter((_, index) => mayList[index]))
  }
  return { names: names.toSorted(), of: all.length }
}

async function allNames(client: Client): Promise<readonly string[]> {
  const all: string[] = []
  for await (const { items } of client.listAll(namespaces, { limit: maxItems, metadataOnly: true })) {
    all.push(...items.map(({ metadata }) => metadata.name))
    if (all.length >= maxNames) break
  }
  return all
}
