import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Route, RouteRequest, RouteResponse } from '../../../runtime/http/route.ts'
import { withPhase } from '../decision/candidate.ts'
import type { WorkPorts } from '../work/work.ts'
import { ok, problem } from './answers.ts'
import { isNamed, stateOf } from './swabbie-view.ts'

export interface TestingOptions {
  /** The only resource ids that these paths may change. */
  readonly resourceIds: readonly string[]
}

const removeMethod = 'DELETE'

/**
 * Swabbie's paths for tests that must not wait: they change the dates of existing marks. Rules, opt-outs, exclusions and the
 * door still apply, and only the listed ids can be changed.
 */
export function testingRoutes(ports: WorkPorts, { resourceIds }: TestingOptions): readonly Route[] {
  const base = '/testing/resources/state/:namespace/:id'
  return [
    {
      method: 'PUT',
      path: `${base}/mark`,
      handle: (request) =>
        move(request, ({ projectedDeletionStamp }) => Number(projectedDeletionStamp ?? ports.clock.now())),
    },
    { method: removeMethod, path: base, handle: (request) => move(request, () => ports.clock.now()) },
    { method: 'POST', path: '/testing/resources/notify/:namespace/:id', handle: announceAgain },
  ]

  async function move(
    { params, body }: RouteRequest,
    dateOf: (given: Record<string, unknown>) => number,
  ): Promise<RouteResponse> {
    const candidate = find(params)
    if (!isCandidate(candidate)) return candidate
    const at = dateOf(body ? (JSON.parse(body) as Record<string, unknown>) : {})
    if (!Number.isFinite(at)) return problem(400, 'projectedDeletionStamp must be epoch milliseconds')
    const now = ports.clock.now()
    const notice = {
      kind: 'none' as const,
      generation: candidate.status?.generation ?? 1,
      channel: 'testing',
      at: formatTime(now),
    }
    const status = withPhase(
      candidate.status,
      { phase: 'Notified', because: 'testing', at: now },
      {
        projectedDeletionTime: formatTime(at),
        retentionSeconds: 0,
        promisedTime: null,
        notices: [...(candidate.status?.notices ?? []), notice].slice(-20),
      },
    )
    const written = await ports.client.update<CleanupCandidate>(
      cleanupCandidate.type,
      { ...candidate, status },
      { subresource: 'status' },
    )
    return ok(stateOf(written))
  }

  async function announceAgain({ params }: RouteRequest): Promise<RouteResponse> {
    const candidate = find(params)
    if (!isCandidate(candidate)) return candidate
    const status = withPhase(
      candidate.status,
      { phase: 'Marked', because: 'testing', at: ports.clock.now() },
      { generation: (candidate.status?.generation ?? 1) + 1 },
    )
    const written = await ports.client.update<CleanupCandidate>(
      cleanupCandidate.type,
      { ...candidate, status },
      { subresource: 'status' },
    )
    return ok(stateOf(written))
  }

  function find({ namespace = '', id = '' }: RouteRequest['params']): CleanupCandidate | RouteResponse {
    if (!resourceIds.includes(id)) return problem(403, `${id} is not one of the resource ids enabled for tests`)
    const mark = ports.caches.candidates.list().find((candidate) => isNamed(candidate, namespace, id))
    if (!mark) return problem(404, 'no policy has marked this resource')
    const isDry = ports.caches.policies.get('', mark.spec.policy)?.spec.dryRun ?? false
    return isDry ? problem(409, 'the policy of this mark is a dry run: nothing is written') : mark
  }
}

function isCandidate(found: CleanupCandidate | RouteResponse): found is CleanupCandidate {
  return 'metadata' in found
}
