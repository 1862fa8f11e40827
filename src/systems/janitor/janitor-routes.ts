import type { Route } from '../../runtime/route.ts'
import { optOutPage } from './routes/opt-out-page.ts'
import { resourceRoutes } from './routes/resources.ts'
import { switchRoutes } from './routes/switches.ts'
import { testingRoutes, type TestingOptions } from './routes/testing-routes.ts'
import type { WorkPorts } from './work.ts'

export interface JanitorRouteOptions {
  readonly dryRun: boolean
  readonly inService: () => boolean
  /** Swabbie's testing paths; absent: there are none. */
  readonly testing?: TestingOptions | undefined
}

/** Everything the janitor answers over HTTP beside the Kubernetes API. */
export function janitorRoutes(ports: WorkPorts, options: JanitorRouteOptions): readonly Route[] {
  const testing = options.testing && !options.dryRun ? testingRoutes(ports, options.testing) : []
  return [...optOutPage(ports), ...resourceRoutes(ports, options), ...switchRoutes(ports, options), ...testing]
}
