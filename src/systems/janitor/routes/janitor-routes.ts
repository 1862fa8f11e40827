import type { Route } from '../../../runtime/http/route.ts'
import { problem } from './answers.ts'
import { optOutPage } from './opt-out-page.ts'
import { resourceRoutes } from './resources.ts'
import { switchRoutes } from './switches.ts'
import { testingRoutes, type TestingOptions } from './testing-routes.ts'
import type { WorkPorts } from '../work/work.ts'

export interface JanitorRouteOptions {
  readonly dryRun: boolean
  readonly inService: () => boolean
  /** Enables Swabbie's testing paths. */
  readonly testing?: TestingOptions | undefined
}

/** The janitor's HTTP routes. In a dry run every route that writes answers 409. */
export function janitorRoutes(ports: WorkPorts, options: JanitorRouteOptions): readonly Route[] {
  const { testing, dryRun } = options
  const routes = [
    ...optOutPage(ports),
    ...resourceRoutes(ports),
    ...switchRoutes(ports, options),
    ...(testing ? testingRoutes(ports, testing) : []),
  ]
  return dryRun ? routes.map(readOnly) : routes
}

function readOnly(route: Route): Route {
  if (route.method === 'GET') return route
  return { ...route, handle: async () => problem(409, 'the janitor runs with --dry-run: nothing is written') }
}
