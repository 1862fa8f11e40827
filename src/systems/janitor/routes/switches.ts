import { ignoring } from '../../../kube/status-error.ts'
import type { Route, RouteResponse } from '../../../runtime/http/route.ts'
import { closeCircuit, pauseJanitor } from '../work/switches.ts'
import type { WorkPorts } from '../work/work.ts'
import { ok, problem } from './answers.ts'
import { isMarked } from './swabbie-view.ts'

/** Routes to pause and resume the janitor, and to close the circuit of a policy. */
export function switchRoutes(ports: WorkPorts, { inService }: { readonly inService: () => boolean }): readonly Route[] {
  const { client, caches, clock } = ports
  return [
    { method: 'GET', path: '/janitor/status', handle: async () => ok(status()) },
    { method: 'POST', path: '/janitor/pause', handle: () => pause(true) },
    { method: 'POST', path: '/janitor/resume', handle: () => pause(false) },
    {
      method: 'POST',
      path: '/janitor/policies/:policy/close-circuit',
      handle: ({ params }) => close(params.policy ?? ''),
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

  async function pause(isPaused: boolean): Promise<RouteResponse> {
    await pauseJanitor(client, isPaused)
    return ok({ paused: isPaused })
  }

  async function close(name: string): Promise<RouteResponse> {
    const found = await closeCircuit(client, name, clock.now()).then(() => true, ignoring('NotFound'))
    return found ? ok({ closed: name }) : problem(404, `there is no CleanupPolicy ${name}`)
  }
}
