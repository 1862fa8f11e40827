import { formatTime } from '../kube/time.ts'
import type { Forecast, ForecastEvent } from './event.ts'

/** The public JSON form of a forecast, with times in RFC 3339. */
export function forecastDocument({ from, until, wanted, events, ...rest }: Forecast) {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Forecast',
    from: formatTime(from),
    until: formatTime(until),
    ...(wanted > until ? { wanted: formatTime(wanted) } : {}),
    ...rest,
    events: events.map(({ at, leavesAt, ...event }: ForecastEvent) => ({
      at: formatTime(at),
      ...event,
      ...(leavesAt === undefined ? {} : { leavesAt: formatTime(leavesAt) }),
    })),
  }
}
