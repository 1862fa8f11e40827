import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import type { CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { departure, type Departure } from '../../../apis/departure.ts'
import { recordName, recordNamespace } from '../../../departures/records/record.ts'
import { restore } from '../../../departures/restore/restore.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Route, RouteRequest, RouteResponse } from '../../../runtime/http/route.ts'
import { withPhase, markOf } from '../decision/candidate.ts'
import { dueAt, isActive } from '../decision/decide.ts'
import { namesResource, optIn, optOut } from '../opt-outs/opt-out.ts'
import { minimalObject } from '../verdict/protection.ts'
import type { ResourceRef } from '../verdict/provider.ts'
import type { WorkPorts } from '../work/work.ts'
import { ok, problem } from './answers.ts'
import { findResource, wouldMark } from './find-resource.ts'
import { fullMark, isMarked, isNamed, markName, markNames, slimMark, stateOf } from './swabbie-view.ts'

const optInMethod = 'DELETE'

/** Swabbie's HTTP paths over CleanupCandidates, and two that Swabbie lacks: opting in again and restoring. */
export function resourceRoutes(ports: WorkPorts): readonly Route[] {
  const all = () => ports.caches.candidates.list()
  const get = (path: string, handle: (request: RouteRequest) => RouteResponse | Promise<RouteResponse>): Route => ({
    method: 'GET',
    path,
    handle: async (request) => handle(request),
  })
  const write = (
    method: Route['method'],
    path: string,
    handle: (request: RouteRequest) => Promise<RouteResponse>,
  ): Route => ({ method, path, handle })
  return [
    get('/resources/rules', () => ok(branches(ports))),
    get('/resources/marked', ({ query }) => listed(all().filter(isMarked), query)),
    get('/resources/marked/:namespace', ({ params, query }) => listed(named(all(), params).filter(isMarked), query)),
    get('/resources/marked/:namespace/:id', ({ params }) => one(named(all(), params).filter(isMarked), fullMark)),
    get('/resources/numMarked', () => ok(all().filter(isMarked).length)),
    get('/resources/canDelete', () => ok(all().filter(isDue(ports)).map(fullMark))),
    get('/resources/deleted', () => ok(markNames(all().filter((mark) => !isMarked(mark))))),
    get('/resources/states', () => ok(all().map(stateOf))),
    get('/resources/states/:status', ({ params }) => statesOf(all(), params.status ?? '')),
    get('/resources/state', ({ query }) =>
      one(
        all().filter((mark) => matchesQuery(mark, query)),
        stateOf,
      ),
    ),
    get('/resources/state/:id', ({ params }) =>
      ok(
        all()
          .filter(({ spec }) => spec.resource.name === params.id)
          .map(stateOf),
      ),
    ),
    // Swabbie answers 200 and null for what it does not know.
    get('/resources/state/:namespace/:id', ({ params }) => {
      const found = one(named(all(), params), stateOf)
      return found.status === 404 ? ok(null) : found
    }),
    get('/resources/check/:namespace/:id', async ({ params }) =>
      ok(await wouldMark(ports, params.namespace ?? '', params.id ?? '')),
    ),
    get('/resources/notify', () => ok(all().filter(isUnannounced).map(markName))),
    write('POST', '/resources/notify', () => retryNotices(ports)),
    write('PUT', '/resources/state/:namespace/:id/optOut', (request) => keep(ports, request)),
    write(optInMethod, '/resources/state/:namespace/:id/optOut', (request) => release(ports, request)),
    write('POST', '/resources/state/:namespace/:id/restore', ({ params }) =>
      restoreDeleted(ports, named(all(), params)),
    ),
    write('PUT', '/admin/resources/recalculate/:namespace', (request) => recalculate(ports, request)),
    write('PUT', '/admin/resources/recalculate/:namespace/', (request) => recalculate(ports, request)),
  ]
}

function branches({ caches }: WorkPorts): readonly unknown[] {
  const distinct = new Map(
    caches.policies.list().flatMap(({ spec }) => spec.rules.map((branch) => [JSON.stringify(branch), branch] as const)),
  )
  return [...distinct.values()]
}

/** Marks in the form that the query asks for; `expand` wins over `list`. */
function listed(marks: readonly CleanupCandidate[], { expand, list }: RouteRequest['query']): RouteResponse {
  const isSet = (value: string | undefined) => value === 'true' || value === ''
  if (isSet(list) && !isSet(expand)) return ok(markNames(marks))
  return ok(marks.map(isSet(expand) ? fullMark : slimMark))
}

function named(
  marks: readonly CleanupCandidate[],
  { namespace = '', id }: RouteRequest['params'],
): readonly CleanupCandidate[] {
  return marks.filter((mark) => isNamed(mark, namespace, id))
}

function one(marks: readonly CleanupCandidate[], form: (mark: CleanupCandidate) => unknown): RouteResponse {
  const latest = marks.toSorted((left, right) =>
    (left.status?.markedAt ?? '') < (right.status?.markedAt ?? '') ? 1 : -1,
  )[0]
  return latest ? ok(form(latest)) : problem(404, 'no mark matches')
}

function isDue({ clock }: WorkPorts): (mark: CleanupCandidate) => boolean {
  return (candidate) => {
    const mark = markOf(candidate)
    return isActive(mark.phase) && (dueAt(mark)?.at ?? Infinity) <= clock.now()
  }
}

/** Marked, and its owner has not been notified yet. */
function isUnannounced({ status }: CleanupCandidate): boolean {
  return status?.phase === 'Marked'
}

/** Retries failed notices at once. Swabbie did that on GET, which link scanners and browsers call, too. */
async function retryNotices(ports: WorkPorts): Promise<RouteResponse> {
  const waiting = ports.caches.candidates
    .list()
    .filter((mark) => isUnannounced(mark) && mark.status?.nextAttemptTime !== undefined && !isDry(ports, mark))
  for (const mark of waiting) {
    const { nextAttemptTime: _, ...status } = mark.status ?? {}
    await ports.client.updateStatus(cleanupCandidate.type, mark, status)
  }
  return ok({ trying: waiting.map(markName) })
}

/** Whether a mark's policy has become a dry run: its marks stay as they are. */
function isDry({ caches }: WorkPorts, { spec }: CleanupCandidate): boolean {
  return caches.policies.get('', spec.policy)?.spec.dryRun ?? false
}

function statesOf(marks: readonly CleanupCandidate[], status: string): RouteResponse {
  const wanted = status.toUpperCase()
  if (!['MARK', 'UNMARK', 'DELETE', 'NOTIFY', 'OPTOUT', 'FAILED'].includes(wanted))
    return problem(400, `there is no status ${status}`)
  return ok(
    marks.map(stateOf).filter(({ currentStatus }) => {
      const name = (currentStatus as { name?: string } | null)?.name ?? ''
      return wanted === 'FAILED' ? name.includes('FAILED') : name === wanted
    }),
  )
}

function matchesQuery(
  { spec }: CleanupCandidate,
  { provider, account, location, resourceType, resourceId }: RouteRequest['query'],
): boolean {
  const { resource } = spec
  const same = (wanted: string | undefined, found: string | undefined) =>
    wanted === undefined || wanted.toLowerCase() === (found ?? '').toLowerCase()
  return (
    same(provider, resource.provider) &&
    same(account, resource.account ?? resource.cluster ?? 'home') &&
    same(location, resource.region ?? resource.namespace ?? 'cluster') &&
    same(resourceType, resource.kind) &&
    (resourceId === undefined || resourceId === resource.name)
  )
}

/** The resource that a path names, from an active mark or a fresh snapshot. An ended mark may be of an earlier resource of that name. */
async function refOf(
  ports: WorkPorts,
  { namespace = '', id = '' }: RouteRequest['params'],
): Promise<ResourceRef | undefined> {
  const mark = named(ports.caches.candidates.list(), { namespace, id }).find(({ status }) =>
    isActive(status?.phase ?? 'Unmarked'),
  )
  return mark ? mark.spec.resource : findResource(ports, namespace, id)
}

async function keep(ports: WorkPorts, { params, user, body }: RouteRequest): Promise<RouteResponse> {
  const ref = await refOf(ports, params)
  if (!ref) return problem(404, 'there is no such resource')
  const reason = new URLSearchParams(body).get('reason') ?? undefined
  await optOut(ports.client, ref, { by: user?.name ?? 'an unnamed user', reason })
  const [mark] = ports.caches.marksOfResource(ref)
  return ok({ ...(mark ? stateOf(mark) : { markedResource: null, deleted: false, statuses: [] }), optedOut: true })
}

async function release(ports: WorkPorts, { params }: RouteRequest): Promise<RouteResponse> {
  const ref = await refOf(ports, params)
  if (!ref) return problem(404, 'there is no such resource')
  const optOuts: readonly CleanupOptOut[] = ports.caches.optOuts
    .list()
    .filter((candidate) => namesResource(candidate, ref))
  const released = await optIn(ports.client, optOuts, ports.clock.now())
  return released ? ok({ optedOut: false }) : problem(404, 'there is no live opt-out for this resource')
}

async function restoreDeleted(ports: WorkPorts, marks: readonly CleanupCandidate[]): Promise<RouteResponse> {
  const deleted = marks.find(({ status }) => status?.phase === 'Deleted')
  if (!deleted) return problem(404, 'no deleted resource has this name')
  const { resource } = deleted.spec
  const cluster = resource.cluster ?? ''
  const sketch = minimalObject(resource)
  const place = { namespace: recordNamespace(cluster, sketch), name: recordName(cluster, sketch) }
  const record = await ports.client.get<Departure>(departure.type, place).catch(ignoring('NotFound'))
  if (!record) return problem(404, 'its departure record no longer exists')
  try {
    const { objects, notes } = await restore(ports.client, record, { now: ports.clock.now() })
    return ok({
      restored: objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`),
      notes,
    })
  } catch (error) {
    if (isStatusError(error)) return problem(error.code, error.message)
    throw error
  }
}

/** Brings deletion dates forward, oldest resources first. Owners who were notified of another date are notified again before the deletion. */
async function recalculate(ports: WorkPorts, { params, query }: RouteRequest): Promise<RouteResponse> {
  const seconds = Number(query.retentionSeconds ?? '')
  const max = Number(query.numResources ?? '1')
  if (!Number.isInteger(seconds) || seconds < 0 || !Number.isInteger(max) || max < 0)
    return problem(400, 'retentionSeconds and numResources must be whole numbers')
  const now = ports.clock.now()
  const at = now + seconds * 1000
  const later = named(ports.caches.candidates.list(), { namespace: params.namespace ?? '' })
    .filter(
      (mark) => isMarked(mark) && !isDry(ports, mark) && (parseTime(mark.status?.projectedDeletionTime) ?? 0) > at,
    )
    .toSorted((left, right) => ((left.status?.createdAt ?? '') < (right.status?.createdAt ?? '') ? -1 : 1))
    .slice(0, max)
  for (const mark of later) {
    const announced = mark.status?.phase !== 'Marked'
    const change = {
      retentionSeconds: seconds,
      projectedDeletionTime: formatTime(at),
      promisedTime: null,
      scheduledTime: null,
      nextAttemptTime: null,
    }
    const status = announced
      ? withPhase(
          mark.status,
          { phase: 'Marked', because: 'recalculated', at: now },
          { ...change, generation: (mark.status?.generation ?? 1) + 1 },
        )
      : { ...withPhase(mark.status, { phase: 'Marked', because: mark.status?.because ?? 'violates', at: now }, change) }
    await ports.client.updateStatus(cleanupCandidate.type, mark, status)
  }
  return ok({ moved: later.map(markName) })
}
