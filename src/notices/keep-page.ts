import { isStatusError } from '../kube/status-error.ts'
import type { Route, RouteRequest, RouteResponse } from '../runtime/http/route.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { escapeHtml } from './html.ts'
import { dateText } from './notice.ts'
import { page } from './page.ts'
import { checkLink, type LinkSubject } from './signed-links.ts'

/** What the link of a notice keeps. */
export interface KeepSubject {
  /** As its page names it. */
  readonly title: string
  readonly link: Pick<LinkSubject, 'path' | 'identity'>
  /** How to keep it without the link, in HTML: the end of a sentence. */
  readonly instead: string
  readonly isDeleting: boolean
  readonly announcement: { readonly generation: number; readonly date: number } | undefined
  readonly because: string
  /** Until when one keep keeps it. */
  readonly until: () => Promise<number>
  /** Rejects with Conflict when it has changed since it was read. */
  readonly keep: (until: number) => Promise<unknown>
}

export interface KeepPorts {
  readonly clock: Clock
  readonly linkKey: () => Promise<string>
  readonly dryRun: boolean
  /** What is kept, such as "environment". */
  readonly noun: string
  readonly find: (params: Readonly<Record<string, string>>) => Promise<KeepSubject | undefined>
}

/** The page behind the link in a notice. GET changes nothing; only the form's POST keeps what was announced. */
export function keepRoutes(path: string, ports: KeepPorts): readonly Route[] {
  return [
    { method: 'GET', path, authenticated: false, handle: (request) => answer(ports, request, false) },
    { method: 'POST', path, authenticated: false, handle: (request) => answer(ports, request, true) },
  ]
}

async function answer(ports: KeepPorts, request: RouteRequest, isPost: boolean): Promise<RouteResponse> {
  const { noun, clock, dryRun } = ports
  const subject = await ports.find(request.params)
  const asked = { query: request.query, now: clock.now() }
  const verdict = subject ? checkLink(await ports.linkKey(), subject.link, asked) : 'forged'
  // One answer for both: without a valid link it must not be learnt what exists.
  if (!subject || verdict === 'forged')
    return page(
      403,
      'This link is not valid',
      `<p>The ${noun} no longer exists, or the link was changed. Use the link exactly as it is in the notice. Your platform team can bring a deleted one back: <code>sojourn departures</code>, then <code>sojourn restore NAME</code>.</p>`,
    )
  const { title, announcement } = subject
  if (verdict === 'expired')
    return page(403, 'This link has expired', `<p>Use a newer notice, or ${subject.instead}.</p>`)
  if (subject.isDeleting)
    return page(
      409,
      'Its deletion has already started',
      '<p>Your platform team can bring it back with <code>sojourn restore</code>.</p>',
    )
  if (announcement?.generation !== Number(request.query['generation']))
    return page(
      200,
      `${title} is not about to be deleted`,
      '<p>It was kept, changed or used since the notice. There is nothing more to do.</p>',
    )
  const until = await subject.until()
  if (until <= announcement.date)
    return page(200, `${title} cannot be kept longer`, '<p>It has reached the maximum age that its class allows.</p>')
  if (!isPost) return ask(subject, announcement.date, { until, query: request.query })
  if (dryRun) return page(409, 'Nothing was changed', '<p>Sojourn runs with --dry-run.</p>')
  try {
    await subject.keep(until)
  } catch (error) {
    if (!isStatusError(error, 'Conflict')) throw error
    return page(409, 'Nothing was changed', '<p>It changed in this moment. Open the link of the notice again.</p>')
  }
  return page(200, `${title} is kept`, `<p>It stays until ${escapeHtml(dateText(until, 'UTC'))} at least.</p>`)
}

function ask(
  { title, because, link }: KeepSubject,
  date: number,
  { until, query }: { readonly until: number; readonly query: RouteRequest['query'] },
): RouteResponse {
  return page(
    200,
    `Keep ${title}?`,
    `<dl>
<dt>Deleted on</dt><dd>${escapeHtml(dateText(date, 'UTC'))}</dd>
<dt>Kept until</dt><dd>${escapeHtml(dateText(until, 'UTC'))}</dd>
<dt>Because</dt><dd>${escapeHtml(because)}</dd>
</dl>
<form method="post" action="${escapeHtml(`${link.path}?${new URLSearchParams(query).toString()}`)}">
<button type="submit">Keep it</button>
</form>`,
  )
}
