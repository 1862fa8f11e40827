import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Route, RouteRequest, RouteResponse } from '../../../runtime/http/route.ts'
import { checkLink, optOutPath } from '../opt-outs/links.ts'
import { escapeHtml } from '../../../notices/html.ts'
import { dateText } from '../../../notices/notice.ts'
import { namesResource, optOut } from '../opt-outs/opt-out.ts'
import { describeResource } from '../model/resource.ts'
import type { WorkPorts } from '../work/work.ts'
import { page } from './page.ts'

/** The page behind the link of a notice: looking changes nothing, only the button keeps the resource. */
export function optOutPage(ports: WorkPorts): readonly Route[] {
  const path = `${optOutPath('')}:candidate`
  return [
    { method: 'GET', path, authenticated: false, handle: (request) => answer(ports, request, show) },
    { method: 'POST', path, authenticated: false, handle: (request) => answer(ports, request, keep) },
  ]
}

type Handler = (ports: WorkPorts, candidate: CleanupCandidate, request: RouteRequest) => Promise<RouteResponse>

/** Checks the link before anything is shown, let alone done. */
async function answer(ports: WorkPorts, request: RouteRequest, handle: Handler): Promise<RouteResponse> {
  const { candidate: name = '' } = request.params
  const { generation = '', expires = '', signature = '' } = request.query
  const candidate = await ports.client
    .get<CleanupCandidate>(cleanupCandidate.type, { name })
    .catch(ignoring('NotFound'))
  if (!candidate) return gone()
  const subject = {
    candidate: name,
    resource: candidate.spec.resource,
    generation: Number(generation),
    expires: Number(expires),
  }
  switch (checkLink(await ports.linkKey(), subject, { signature, now: ports.clock.now() })) {
    case 'forged':
      return page(
        403,
        'This link is not valid',
        '<p>It was altered, or it is not ours. Use the link as it is in the notice.</p>',
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
    `<p>It is marked for cleanup. Keep it, and no policy will delete it until somebody takes that back.</p>
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
  // Only now: a janitor that has not said by then that it deletes the resource will find the wish.
  const { status } = await ports.client
    .get<CleanupCandidate>(cleanupCandidate.type, { name: candidate.metadata.name })
    .catch(() => candidate)
  if (status?.phase === 'Deleting' || status?.phase === 'Deleted')
    return page(
      202,
      'Its deletion has already started',
      `<p>Your wish is recorded, but ${escapeHtml(what)} may be gone. Ask your platform team to restore it.</p>`,
    )
  return page(
    200,
    `${what} will be kept`,
    '<p>No policy will delete it. Whoever runs the cluster can take that back.</p>',
  )
}

/** What has left cannot be kept; what is kept needs no asking. */
function endOf({ caches, clock }: WorkPorts, { spec, status }: CleanupCandidate): RouteResponse | undefined {
  if (status?.phase === 'Deleted' || status?.because === 'gone-by-itself') return gone()
  const kept = caches.optOuts
    .list()
    .some((candidate) => isLiveOptOut(candidate, clock.now()) && namesResource(candidate, spec.resource))
  if (kept)
    return page(
      200,
      `${describeResource(spec.resource)} is kept`,
      '<p>Somebody has asked for that already. There is nothing more to do.</p>',
    )
  return undefined
}

function gone(): RouteResponse {
  return page(
    410,
    'It is no longer there',
    '<p>The resource that this link is about has been deleted, or is no longer marked.</p>',
  )
}
