import { jsonIn } from '../../../kube/basics/json.ts'
import { cleanupCandidate, type CandidateStatus, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Route, RouteRequest, RouteResponse } from '../../../runtime/http/route.ts'
import { createCandidate, freshMark } from '../cycles/mark-cycle.ts'
import { withPhase } from '../decision/candidate.ts'
import { sentenceFor } from '../model/because.ts'
import type { WorkPorts } from '../work/work.ts'
import { ok, problem } from './answers.ts'
import { locate } from './find-resource.ts'
import { isMarked, isNamed, stateOf } from './swabbie-view.ts'

export interface TestingOptions {
  /** The only resource ids that these paths may change. */
  readonly resourceIds: readonly string[]
}

const removeMethod = 'DELETE'

/** The body of Swabbie's `mark`. */
interface MarkRequest {
  readonly projectedDeletionStamp?: number
  readonly markTs?: number
  readonly resourceOwner?: string
}

/**
 * Swabbie's paths for tests that must not wait: they mark, and change the dates of marks. Rules, opt-outs, exclusions and the
 * door still apply before a deletion, and only the listed ids can be changed.
 */
export function testingRoutes(ports: WorkPorts, { resourceIds }: TestingOptions): readonly Route[] {
  const base = '/testing/resources/state/:namespace/:id'
  return [
    { method: 'PUT', path: `${base}/mark`, handle: mark },
    {
      method: removeMethod,
      path: base,
      handle: (request) => onMark(request, (found) => move(ports, found, ports.clock.now())),
    },
    {
      method: 'POST',
      path: '/testing/resources/notify/:namespace/:id',
      handle: (request) => onMark(request, (found) => announceAgain(ports, found)),
    },
  ]

  /** Moves the date of a mark, after marking the resource if no policy has yet. */
  async function mark(request: RouteRequest): Promise<RouteResponse> {
    const given = markRequestIn(request.body)
    const { projectedDeletionStamp: at = ports.clock.now(), markTs = 0, resourceOwner = '' } = given ?? {}
    if (!given || !Number.isFinite(at) || !Number.isFinite(markTs) || typeof resourceOwner !== 'string')
      return problem(
        400,
        'the body must be JSON: projectedDeletionStamp and markTs in epoch milliseconds, resourceOwner',
      )
    const known = find(request.params)
    const found = isCandidate(known) || known.status !== 404 ? known : await create(ports, request.params, given)
    return isCandidate(found) ? move(ports, found, at) : found
  }

  async function onMark(
    { params }: RouteRequest,
    act: (candidate: CleanupCandidate) => Promise<RouteResponse>,
  ): Promise<RouteResponse> {
    const found = find(params)
    return isCandidate(found) ? act(found) : found
  }

  function find({ namespace = '', id = '' }: RouteRequest['params']): CleanupCandidate | RouteResponse {
    if (!resourceIds.includes(id)) return problem(403, `${id} is not one of the resource ids enabled for tests`)
    const found = ports.caches.candidates
      .list()
      .find((candidate) => isMarked(candidate) && isNamed(candidate, namespace, id))
    if (!found) return problem(404, 'no policy has marked this resource')
    const isDry = ports.caches.policies.get('', found.spec.policy)?.spec.dryRun ?? false
    return isDry ? problem(409, 'the policy of this mark is a dry run: nothing is written') : found
  }
}

function markRequestIn(body: string | undefined): MarkRequest | undefined {
  const value = jsonIn(body || '{}')
  return value === undefined ? undefined : (Object(value) as MarkRequest)
}

/** Marks a resource that a policy targets, whether or not a rule matches: the next cycle lifts a mark that none does. */
async function create(
  ports: WorkPorts,
  { namespace = '', id = '' }: RouteRequest['params'],
  { markTs, resourceOwner }: MarkRequest,
): Promise<CleanupCandidate | RouteResponse> {
  const [found] = await locate(ports, namespace, id)
  if (!found) return problem(404, 'the resource does not exist, or no policy targets it')
  const { work, snapshot, resource } = found
  if (work.policy.dryRun) return problem(409, 'its policy is a dry run: nothing is written')
  const verdict = snapshot.judge(resource)
  if (verdict.is === 'excluded') return problem(409, `it is kept: ${sentenceFor(verdict.because)}`)
  const candidate = await createCandidate(work, resource)
  const change = {
    ...freshMark(work, resource, snapshot),
    generation: (candidate.status?.generation ?? 0) + 1,
    summaries:
      verdict.is === 'violating' ? [...verdict.summaries] : [{ rule: 'testing', description: 'a test marked it' }],
    ...(markTs === undefined ? {} : { markedAt: formatTime(markTs) }),
    ...(resourceOwner ? { owner: { address: resourceOwner, source: 'testing' } } : {}),
  }
  return write(
    ports,
    candidate,
    withPhase(candidate.status, { phase: 'Marked', because: 'testing', at: snapshot.now }, change),
  )
}

/** Gives a mark its date, as if its owner had been notified. */
async function move(ports: WorkPorts, candidate: CleanupCandidate, at: number): Promise<RouteResponse> {
  const now = ports.clock.now()
  const { generation = 1, notices = [] } = candidate.status ?? {}
  const notice = { kind: 'none' as const, generation, channel: 'testing', at: formatTime(now) }
  const status = withPhase(
    candidate.status,
    { phase: 'Notified', because: 'testing', at: now },
    {
      projectedDeletionTime: formatTime(at),
      retentionSeconds: 0,
      promisedTime: null,
      notices: [...notices, notice].slice(-20),
    },
  )
  return ok(stateOf(await write(ports, candidate, status)))
}

async function announceAgain(ports: WorkPorts, candidate: CleanupCandidate): Promise<RouteResponse> {
  const status = withPhase(
    candidate.status,
    { phase: 'Marked', because: 'testing', at: ports.clock.now() },
    { generation: (candidate.status?.generation ?? 1) + 1 },
  )
  return ok(stateOf(await write(ports, candidate, status)))
}

function write({ client }: WorkPorts, candidate: CleanupCandidate, status: CandidateStatus): Promise<CleanupCandidate> {
  return client.updateStatus<CleanupCandidate>(cleanupCandidate.type, candidate, status)
}

function isCandidate(found: CleanupCandidate | RouteResponse): found is CleanupCandidate {
  return 'metadata' in found
}
