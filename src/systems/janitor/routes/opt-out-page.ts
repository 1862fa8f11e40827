import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Route, RouteRequest, RouteResponse } from '../../../runtime/http/route.ts'
import { checkLink } from '../../../notices/signed-links.ts'
import { aboutOf } from '../cycles/notice-item.ts'
import { isActive } from '../decision/decide.ts'
import { listPath, listSubject, optOutPath, optOutSubject } from '../opt-outs/links.ts'
import { addressesIn } from '../../../notices/addresses.ts'
import { escapeHtml } from '../../../notices/html.ts'
import { dateText } from '../../../notices/notice.ts'
import { namesResource, optOut } from '../opt-outs/opt-out.ts'
import { describeResource } from '../model/resource.ts'
import type { WorkPorts } from '../work/work.ts'
import { page } from '../../../notices/page.ts'

/** The page behind the link in a notice. GET changes nothing; only the form's POST opts the resource out. */
export function optOutPage(ports: WorkPorts): readonly Route[] {
  const path = `${optOutPath('')}:candidate`
  return [
    { method: 'GET', path, authenticated: false, handle: (request) => answer(ports, request, show) },
    { method: 'POST', path, authenticated: false, handle: (request) => answer(ports, request, keep) },
    { method: 'GET', path: listPath, authenticated: false, handle: (request) => answerList(ports, request, showList) },
    { method: 'POST', path: listPath, authenticated: false, handle: (request) => answerList(ports, request, keepAll) },
  ]
}

type Handler = (ports: WorkPorts, candidate: CleanupCandidate, request: RouteRequest) => Promise<RouteResponse>

/** Verifies the link's signature before anything is shown or changed. */
async function answer(ports: WorkPorts, request: RouteRequest, handle: Handler): Promise<RouteResponse> {
  const { candidate: name = '' } = request.params
  const candidate = await ports.client
    .get<CleanupCandidate>(cleanupCandidate.type, { name })
    .catch(ignoring('NotFound'))
  // One answer for an unknown candidate and a forged link: without a valid link it must not be learnt what exists.
  const subject = candidate && optOutSubject(name, candidate.spec.resource)
  const refused = await refusal(ports, subject, request)
  if (refused || !candidate) return refused ?? invalidLink
  // A link is good for the mark that its notice was about, not for a later one or a later owner.
  const isOutdated = Number(request.query['generation']) !== (candidate.status?.generation ?? 1)
  return isOutdated ? (endOf(ports, candidate) ?? expiredLink) : handle(ports, candidate, request)
}

const invalidLink = page(
  403,
  'This link is not valid',
  '<p>The resource was deleted long ago, the link was changed, or another installation made it. Use the link exactly as it is in the notice.</p>',
)
const expiredLink = page(
  403,
  'This link has expired',
  '<p>Ask your platform team to keep the resource, or use a newer notice.</p>',
)

/** Why a link is refused; undefined for a good one. */
async function refusal(
  ports: WorkPorts,
  subject: Parameters<typeof checkLink>[1] | undefined,
  { query }: RouteRequest,
): Promise<RouteResponse | undefined> {
  const verdict = subject ? checkLink(await ports.linkKey(), subject, { query, now: ports.clock.now() }) : 'forged'
  if (verdict === 'good') return undefined
  return verdict === 'forged' ? invalidLink : expiredLink
}

type ListHandler = (
  ports: WorkPorts,
  marks: readonly CleanupCandidate[],
  request: RouteRequest,
) => RouteResponse | Promise<RouteResponse>

/** Verifies the link of a list, and finds what the policy has marked of the owner now. */
async function answerList(ports: WorkPorts, request: RouteRequest, handle: ListHandler): Promise<RouteResponse> {
  const { policy = '', owner = '' } = request.query
  const refused = await refusal(ports, listSubject(policy, owner), request)
  if (refused) return refused
  const marks = ports.caches.candidates
    .list()
    .filter(({ spec, status }) => spec.policy === policy && isOwner(status?.owner?.address ?? '', owner))
    .filter((candidate) => isActive(candidate.status?.phase ?? 'Unmarked') && !endOf(ports, candidate))
  if (marks.length > 0) return handle(ports, marks, request)
  return page(200, 'Nothing to keep', '<p>No resource of yours is marked for deletion by this policy any more.</p>')
}

/** Links name one address; those of before named the whole list. */
function isOwner(addresses: string, owner: string): boolean {
  return addresses === owner || addressesIn(addresses.toLowerCase()).includes(owner)
}

function showList({ clock }: WorkPorts, marks: readonly CleanupCandidate[], { query }: RouteRequest): RouteResponse {
  const rows = marks.map((mark) => {
    const { projectedDeletionTime, summaries = [] } = mark.status ?? {}
    const at = parseTime(projectedDeletionTime)
    const about = aboutOf(mark, clock.now())
    const what = `${describeResource(mark.spec.resource)}${about === undefined ? '' : ` (${about})`}`
    const when = at === undefined ? '' : `, deleted from ${dateText(at, 'UTC')}`
    return `<li>${escapeHtml(`${what}${when}: ${summaries.map(({ description }) => description).join('; ')}`)}</li>`
  })
  const what = marks.length === 1 ? 'this resource' : `all of these ${marks.length} resources`
  return page(
    200,
    `Keep ${what}?`,
    `<p>The cleanup policy ${escapeHtml(query['policy'] ?? '')} has marked ${marks.length === 1 ? 'it' : 'them'} for deletion.</p>
<ul>${rows.join('\n')}</ul>
${keepForm(`${listPath}?${new URLSearchParams(query).toString()}`, marks.length === 1 ? 'it' : 'all')}`,
  )
}

async function keepAll(
  ports: WorkPorts,
  marks: readonly CleanupCandidate[],
  request: RouteRequest,
): Promise<RouteResponse> {
  for (const { spec } of marks)
    await optOut(ports.client, spec.resource, requestOf(request, ports, request.query['owner']))
  const what = marks.length === 1 ? '1 resource' : `${marks.length} resources`
  return page(
    200,
    `${what} will be kept`,
    `<p>No cleanup policy will delete ${marks.length === 1 ? 'it' : 'them'}${until(request)}.</p>`,
  )
}

const snoozeMs = 30 * 86_400_000

/** What the form asks for: to keep for 30 days, or until the opt-out is revoked. */
function requestOf({ body }: RouteRequest, { clock }: WorkPorts, by = 'the link of a notice') {
  const form = new URLSearchParams(body)
  return {
    by,
    reason: form.get('reason') ?? undefined,
    until: form.get('for') === '30d' ? clock.now() + snoozeMs : undefined,
  }
}

function until({ body }: RouteRequest): string {
  return new URLSearchParams(body).get('for') === '30d' ? ' for 30 days' : ''
}

function keepForm(action: string, it: string): string {
  return `<form method="post" action="${escapeHtml(action)}">
<label for="reason">Why is it needed? <small>(optional)</small></label>
<input id="reason" name="reason" maxlength="500" autocomplete="off">
<button type="submit" name="for" value="ever">Keep ${it}</button>
<button type="submit" name="for" value="30d">Keep ${it} for 30 days</button>
</form>`
}

async function show(ports: WorkPorts, candidate: CleanupCandidate, { query }: RouteRequest): Promise<RouteResponse> {
  const ended = endOf(ports, candidate)
  if (ended) return ended
  const { resource } = candidate.spec
  const { projectedDeletionTime, summaries = [] } = candidate.status ?? {}
  const at = parseTime(projectedDeletionTime)
  const about = aboutOf(candidate, ports.clock.now())
  const action = `${optOutPath(candidate.metadata.name)}?${new URLSearchParams(query).toString()}`
  return page(
    200,
    `Keep ${describeResource(resource)}?`,
    `<p>A cleanup policy has marked this resource for deletion. If you keep it, no cleanup policy deletes it until the opt-out is revoked, or for 30 days.</p>
<dl>
${about === undefined ? '' : `<dt>What</dt><dd>${escapeHtml(about)}</dd>`}
<dt>Where</dt><dd>${escapeHtml(resource.account ? `${resource.account} ${resource.region ?? ''}` : `cluster ${resource.cluster ?? (await ports.clusterName())}`)}</dd>
${at === undefined ? '' : `<dt>Deleted from</dt><dd>${escapeHtml(dateText(at, 'UTC'))}</dd>`}
${summaries.map(({ description }) => `<dt>Because</dt><dd>${escapeHtml(description)}</dd>`).join('\n')}
<dt>Policy</dt><dd>${escapeHtml(candidate.spec.policy)}</dd>
</dl>
${keepForm(action, 'it')}`,
  )
}

async function keep(ports: WorkPorts, candidate: CleanupCandidate, request: RouteRequest): Promise<RouteResponse> {
  const ended = endOf(ports, candidate)
  if (ended) return ended
  await optOut(ports.client, candidate.spec.resource, requestOf(request, ports, candidate.status?.owner?.address))
  const what = describeResource(candidate.spec.resource)
  // Read after the opt-out is stored: a janitor that has not recorded `Deleting` by now will find the opt-out.
  const { status } = await ports.client
    .get<CleanupCandidate>(cleanupCandidate.type, { name: candidate.metadata.name })
    .catch(() => candidate)
  if (status?.phase === 'Deleting' || status?.phase === 'Deleted')
    return page(
      202,
      'Its deletion has already started',
      `<p>Your opt-out is recorded, but ${escapeHtml(what)} may already be deleted. Ask your platform team to restore it.</p>`,
    )
  return page(
    200,
    `${what} will be kept`,
    `<p>No cleanup policy will delete it${until(request)}. Cluster administrators can revoke the opt-out.</p>`,
  )
}

/** The answer for a resource that is already deleted or opted out. */
function endOf({ caches, clock }: WorkPorts, { spec, status }: CleanupCandidate): RouteResponse | undefined {
  if (status?.phase === 'Deleted' || status?.because === 'gone-by-itself') return gone()
  const kept = caches.optOuts
    .list()
    .some((candidate) => isLiveOptOut(candidate, clock.now()) && namesResource(candidate, spec.resource))
  if (kept)
    return page(
      200,
      `${describeResource(spec.resource)} is kept`,
      '<p>An opt-out for this resource already exists. There is nothing more to do.</p>',
    )
  return undefined
}

function gone(): RouteResponse {
  return page(
    410,
    'This resource no longer exists',
    '<p>The resource has been deleted, or is no longer marked for deletion.</p>',
  )
}
