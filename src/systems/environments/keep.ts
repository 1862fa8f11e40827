import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment, type Environment } from '../../apis/environment.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel } from '../../departures/subjects/own-machinery.ts'
import { namespaces } from '../../kube/core-types.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { escapeHtml } from '../../notices/html.ts'
import { dateText } from '../../notices/notice.ts'
import { page } from '../../notices/page.ts'
import { checkLink, signedUrl } from '../../notices/signed-links.ts'
import type { Route, RouteRequest, RouteResponse } from '../../runtime/http/route.ts'
import { sharedSecret } from '../../runtime/sharing/shared-secret.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import { readClass } from './decision/rules.ts'

export interface KeepPorts {
  readonly client: Client
  readonly clock: Clock
  readonly linkKey: () => Promise<string>
  readonly dryRun: boolean
}

/** The key that signs keep links, shared by all replicas; created when there is none. */
export function keepLinkKey(client: Client): Promise<string> {
  const place = { namespace: sojournNamespace, name: 'sojourn-environment-links', field: 'key', labels: ownLabel }
  return sharedSecret(client, place)
}

/** A link that keeps an environment once, without an account; undefined while it is not announced. */
export function keepUrl(base: string, key: string, { self, namespaceUid, extendMs }: Linked): string | undefined {
  const { announcement } = self.status ?? {}
  const date = parseTime(announcement?.date)
  if (!announcement || date === undefined) return undefined
  const expires = Math.floor((date + extendMs) / 1000)
  return signedUrl(base, key, { ...subjectOf(self, namespaceUid), generation: announcement.generation, expires })
}

interface Linked {
  readonly self: Environment
  readonly namespaceUid: string
  readonly extendMs: number
}

function subjectOf({ metadata }: Environment, namespaceUid: string) {
  const { namespace = '', name, uid } = metadata
  return {
    path: `/environments/keep/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
    identity: [namespace, namespaceUid, uid],
  }
}

/** The page behind the link in a notice. GET changes nothing; only the form's POST keeps the environment. */
export function keepPage(ports: KeepPorts): readonly Route[] {
  const path = '/environments/keep/:namespace/:name'
  return [
    { method: 'GET', path, authenticated: false, handle: (request) => answer(ports, request, false) },
    { method: 'POST', path, authenticated: false, handle: (request) => answer(ports, request, true) },
  ]
}

const refusals = {
  // One answer for both: without a valid link it must not be learnt which environments exist.
  forged: [
    403,
    'This link is not valid',
    '<p>The environment no longer exists, or the link was changed. Use the link exactly as it is in the notice. Your platform team can bring a deleted environment back: <code>sojourn departures</code>, then <code>sojourn restore NAME</code>.</p>',
  ],
  deleting: [
    409,
    'Its deletion has already started',
    '<p>Your platform team can bring it back with <code>sojourn restore</code>.</p>',
  ],
} as const

async function answer(ports: KeepPorts, request: RouteRequest, isPost: boolean): Promise<RouteResponse> {
  const { client, clock } = ports
  const { namespace = '', name = '' } = request.params
  const self = await client.get<Environment>(environment.type, { namespace, name }).catch(ignoring('NotFound'))
  const home = self && (await client.get(namespaces, { name: namespace }).catch(ignoring('NotFound')))
  if (!self || !home) return page(...refusals.forged)
  const asked = { query: request.query, now: clock.now() }
  const verdict = checkLink(await ports.linkKey(), subjectOf(self, home.metadata.uid), asked)
  if (verdict === 'forged') return page(...refusals.forged)
  if (verdict === 'expired')
    return page(
      403,
      'This link has expired',
      `<p>Use a newer notice, or run <code>sojourn keep ${escapeHtml(namespace)}</code>.</p>`,
    )
  const { announcement, deletion } = self.status ?? {}
  if (deletion) return page(...refusals.deleting)
  if (!announcement || announcement.generation !== Number(request.query['generation']))
    return page(
      200,
      `${namespace} is not about to be deleted`,
      '<p>It was kept or used since the notice. There is nothing more to do.</p>',
    )
  const found = await client
    .get<EnvironmentClass>(environmentClass.type, { name: self.spec.className })
    .catch(ignoring('NotFound'))
  const until = keptUntil(self, parseTime(home.metadata.creationTimestamp) ?? 0, found)
  if (until <= (parseTime(announcement.date) ?? 0))
    return page(
      200,
      `${namespace} cannot be kept longer`,
      '<p>It has reached the maximum age that its class allows.</p>',
    )
  return isPost ? keep(ports, self, until) : ask(self, until, request)
}

function ask({ metadata, status }: Environment, until: number, { query }: RouteRequest): RouteResponse {
  const { namespace = '', name } = metadata
  const path = `/environments/keep/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  const date = parseTime(status?.announcement?.date) ?? 0
  return page(
    200,
    `Keep ${namespace}?`,
    `<dl>
<dt>Deleted on</dt><dd>${escapeHtml(dateText(date, 'UTC'))}</dd>
<dt>Kept until</dt><dd>${escapeHtml(dateText(until, 'UTC'))}</dd>
<dt>Because</dt><dd>${escapeHtml(status?.message ?? '')}</dd>
</dl>
<form method="post" action="${escapeHtml(`${path}?${new URLSearchParams(query).toString()}`)}">
<button type="submit">Keep it</button>
</form>`,
  )
}

/** Stored in the status: a revert of the spec by a GitOps tool undoes no person's keep. */
async function keep({ client, clock, dryRun }: KeepPorts, self: Environment, until: number): Promise<RouteResponse> {
  const { namespace = '', name, resourceVersion } = self.metadata
  if (dryRun) return page(409, 'Nothing was changed', '<p>Sojourn runs with --dry-run.</p>')
  const by = self.status?.announcement?.owner ?? 'the link of a notice'
  const now = formatTime(clock.now())
  const status = { kept: { until: formatTime(until), by }, lastUsedAt: now, lastUsedBy: 'Keep' }
  const body = { metadata: { resourceVersion }, status }
  await client.patch(environment.type, { namespace, name }, { type: 'merge', body }, { subresource: 'status' })
  return page(200, `${namespace} is kept`, `<p>It stays until ${escapeHtml(dateText(until, 'UTC'))} at least.</p>`)
}

/** Until when one keep keeps an environment: by `extendBy` from the announced date, at most to `maxAge`. */
function keptUntil({ status }: Environment, createdAt: number, found: EnvironmentClass | undefined): number {
  const rules = found && readClass(found.spec).rules
  const wanted = (parseTime(status?.announcement?.date) ?? 0) + (rules?.extendMs ?? 259_200_000)
  return rules?.maxAgeMs === undefined ? wanted : Math.min(wanted, createdAt + rules.maxAgeMs)
}
