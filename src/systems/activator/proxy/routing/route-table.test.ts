import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../../runtime/time/virtual-clock.ts'
import { defaultLimits } from './ports.ts'
import type { Route, RouteConfig } from './route.ts'
import { RouteTable } from './route-table.ts'
import { Target } from './target.ts'
import { aRoute } from '../../../../../test/activator/proxy.ts'

const ports = { clock: new VirtualClock(), wake: () => {}, random: () => 0 }

function route(config: Partial<RouteConfig>): Route {
  const target = new Target(config.id ?? 'r', { now: 0 }, defaultLimits, ports)
  return { config: aRoute(config), target, cells: new Int32Array(32), waiting: 0, removed: false }
}

function tableOf(...routes: readonly Route[]): RouteTable {
  const table = new RouteTable()
  for (const each of routes) table.add(each)
  return table
}

function find(table: RouteTable, host: string, path = '/'): string | undefined {
  const routes = table.find(host)
  return typeof routes === 'object' ? (routes.only ?? routes.match(path))?.config.id : routes
}

describe('the route table', () => {
  it('prefers the exact host, then the longest wildcard, then the catch-all (C51)', () => {
    const table = tableOf(
      route({ id: 'exact', hosts: ['a.b.example.io'] }),
      route({ id: 'long', hosts: ['*.b.example.io'] }),
      route({ id: 'short', hosts: ['*.example.io'] }),
      route({ id: 'all', hosts: ['*'] }),
    )
    expect(
      ['A.b.example.io:80', 'x.b.example.io', 'x.y.b.example.io', 'z.example.io', 'example.io', 'other'].map((host) =>
        find(table, host),
      ),
    ).toEqual(['exact', 'long', 'long', 'short', 'all', 'all'])
  })

  it('prefers the longest path, and ends prefixes at segments (C51)', () => {
    const table = tableOf(
      route({ id: 'root', hosts: ['a.io'] }),
      route({ id: 'api', hosts: ['a.io'], pathPrefix: '/api' }),
      route({ id: 'v2', hosts: ['a.io'], pathPrefix: '/api/v2/' }),
    )
    expect(['/', '/api', '/api?x', '/api/x', '/apis', '/api/v2/y'].map((path) => find(table, 'a.io', path))).toEqual([
      'root',
      'api',
      'api',
      'api',
      'root',
      'v2',
    ])
  })

  it('forgets what is removed, and finds what is added later (C14, C51)', () => {
    const first = route({ id: 'first', hosts: ['a.io', '*.a.io'] })
    const table = tableOf(first)
    expect(find(table, 'x.a.io')).toBe('first')
    table.remove(first)
    expect(find(table, 'x.a.io')).toBeUndefined()
    table.add(route({ id: 'second', hosts: ['x.a.io'] }))
    expect(find(table, 'x.a.io')).toBe('second')
  })

  it('says when a host is none', () => {
    expect(tableOf().find('a b')).toBe('invalid')
  })

  it('holds a hundred thousand routes, and changes one without touching the rest (C104)', () => {
    const table = new RouteTable()
    const shared = route({ id: 'r' }).target
    const routes = Array.from({ length: 100_000 }, (_, i): Route => ({
      config: aRoute({ id: `r${i}`, hosts: [`h${i}.io`] }),
      target: shared,
      cells: new Int32Array(0),
      waiting: 0,
      removed: false,
    }))
    for (const each of routes) table.add(each)
    table.remove(routes[5]!)
    expect([find(table, 'h5.io'), find(table, 'h99999.io')]).toEqual([undefined, 'r99999'])
  })
})
