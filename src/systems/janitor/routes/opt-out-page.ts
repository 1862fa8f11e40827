import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Route, RouteRequest, RouteResponse } from '../../../runtime/http/route.ts'
import { checkLink } from '../../../notices/signed-links.ts'
import { optOutPath, optOutSubject } from '../opt-outs/links.ts'
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
  ]
}

type Handler = (ports: WorkPorts, candidate: CleanupCandidate, request: RouteRequest) => Promise<RouteResponse>

/** Verifies the link's signature before anything is shown or changed. */
async function answer(ports: WorkPorts, request: RouteRequest, handle: Handler): Promise<RouteResponse> {
  const { candidate: name = '' } = request.params
  const candidate = await ports.client
    .get<CleanupCandidate>(cleanupCandidate.type, { name })
    .catch(ignoring('NotFound'))
  if (!candidate) return gone()
  const subject = optOutSubject(name, candidate.spec.resource)
  switch (checkLink(await ports.linkKey(), subject, { query: request.query, now: ports.clock.now() })) {
    case 'forged':
      return page(
        403,
        'This link is not valid',
        '<p>The link was changed, or another installation made it. Use the link exactly as it is in the notice.</p>',
      )
    case 'expired':
      return page(
        403,
        'This link has expired',
        '<p>Ask your platform team to keep the resource, or use a newer notice.</p>',
      )
    case 'good':
      return handle(ports, candidate, request)
  }
}

async function show(ports: WorkPorts, candidate: CleanupCandidate, { query }: RouteRequest): Promise<RouteResponse> {
  const ended = endOf(ports, candidate)
  if (ended) return ended
  const { resource } = candidate.spec
  const { projectedDeletionTime, summaries = [] } = candidate.status ?? {}
  const at = parseTime(projectedDeletionTime)
  const action = `${optOutPath(candidate.metadata.name)}?${new URLSearchParams(query).toString()}`
  return page(
    200,
    `Keep ${describeResource(resource)}?`,
    `<p>A cleanup policy has marked this resource for deletion. If you keep it, no cleanup policy deletes it until the opt-out is revoked.</p>
<dl>
<dt>Where</dt><dd>${escapeHtml(resource.account ? `${resource.account} ${resource.region ?? ''}` : (resource.cluster ?? 'this cluster'))}</dd>
${at === undefined ? '' : `<dt>Deleted from</dt><dd>${escapeHtml(dateText(at, 'UTC'))}</dd>`}
${summaries.map(({ description }) => `<dt>Because</dt><dd>${escapeHtml(description)}</dd>`).join('\n')}
<dt>Policy</dt><dd>${escapeHtml(candidate.spec.policy)}</dd>
</dl>
<form method="post" action="${escapeHtml(action)}">
<label for="reason">Why is it needed? <small>(optional)</small></label>
<input id="reason" name="reason" maxlength="500" autocomplete="off">
<button type="submit">Keep it</button>
</form>`,
  )
}

async function keep(ports: WorkPorts, candidate: CleanupCandidate, { body }: RouteRequest): Promise<RouteResponse> {
  const ended = endOf(ports, candidate)
  if (ended) return ended
  const reason = new URLSearchParams(body).get('reason') ?? undefined
  const by = candidate.status?.owner?.address ?? 'the link of a notice'
  await optOut(ports.client, candidate.spec.resource, { by, reason })
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
    '<p>No cleanup policy will delete it. Cluster administrators can revoke the opt-out.</p>',
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
