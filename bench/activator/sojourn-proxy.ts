import { systemClock } from '../../src/runtime/time/clock.ts'
import { ThreadedDataPlane } from '../../src/systems/activator/proxy/planes/threaded-data-plane.ts'
import { Proxy } from '../../src/systems/activator/proxy/planes/proxy.ts'
import { routeDefaults } from '../../src/systems/activator/proxy/routing/route.ts'

// The activator's data plane by itself: one warm route, or a cold one when no backend is given.
const [port = '0', backend = '', threads = '0'] = process.argv.slice(2)
const plane =
  threads === '0'
    ? new Proxy({ clock: systemClock, wake: () => {}, random: Math.random })
    : new ThreadedDataPlane({ threads: Number(threads), onWake: () => {} })
plane.setRoute({
  ...routeDefaults,
  id: 'bench',
  target: 'bench',
  slot: 0,
  hosts: ['127.0.0.1'],
  maxWaiting: 20_000,
  readinessTimeoutMs: 600_000,
})
if (backend !== '') {
  const [host = '', at = ''] = backend.split(':')
  plane.setTarget('bench', { is: 'warm', endpoints: [{ host, port: Number(at) }] })
}
await plane.listen({ host: '127.0.0.1', port: Number(port) })
