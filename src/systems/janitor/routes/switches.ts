import { configMaps } from '../../../kube/core-types.ts'
import { cleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Route, RouteResponse } from '../../../runtime/http/route.ts'
import { switchesName } from '../work/janitor-caches.ts'
import { circuitClosedAnnotation } from '../work/circuit.ts'
import type { WorkPorts } from '../work/work.ts'
import { ok, problem } from './answers.ts'
import { isMarked } from './swabbie-view.ts'

const place = { namespace: sojournNamespace, name: switchesName }

/** Routes to pause and resume the janitor, and to close the circuit of a policy. */
export function switchRoutes(ports: WorkPorts, { inService }: { readonly inService: () => boolean }): readonly Route[] {
  const { client, caches, clock } = ports
  return [
    { method: 'GET', path: '/janitor/status', handle: async () => ok(status()) },
    { method: 'POST', path: '/janitor/pause', handle: () => pause('true') },
    { method: 'POST', path: '/janitor/resume', handle: () => pause('false') },
    {
      method: 'POST',
      path: '/janitor/policies/:policy/close-circuit',
      handle: ({ params }) => closeCircuit(params.policy ?? ''),
    },
  ]

  function status(): Record<string, unknown> {
    const marks = caches.candidates.list()
    return {
      inService: inService() && !caches.paused,
      paused: caches.paused,
      policies: caches.policies
        .list()
        .map(({ metadata, status: found }) => ({ name: metadata.name, conditions: found?.conditions ?? [] })),
      marked: marks.filter(isMarked).length,
      ended: marks.filter((mark) => !isMarked(mark)).length,
    }
  }

  async function pause(paused: string): Promise<RouteResponse> {
    try {
      await client.patch(configMaps, place, { type: 'merge', body: { data: { paused } } })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
      await client.create(configMaps, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...place, labels: ownLabel },
        data: { paused },
      })
    }
    return ok({ paused: paused === 'true' })
  }

  async function closeCircuit(name: string): Promise<RouteResponse> {
    try {
      // One second later: times are stored in whole seconds, and the circuit may have opened in this one.
      const annotations = { [circuitClosedAnnotation]: formatTime(clock.now() + 1000) }
      await client.patch(cleanupPolicy.type, { name }, { type: 'merge', body: { metadata: { annotations } } })
      return ok({ closed: name })
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return problem(404, `there is no CleanupPolicy ${name}`)
      throw error
    }
  }
}
