import type { Metrics } from '../../runtime/observability/metrics.ts'
import type { Route } from '../../runtime/http/route.ts'

/** `GET /metrics` for Prometheus; needs the right to `get` that path. */
export function metricsRoute(metrics: Metrics): Route {
  return {
    method: 'GET',
    path: '/metrics',
    handle: () =>
      Promise.resolve({
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: metrics.render(),
      }),
  }
}
