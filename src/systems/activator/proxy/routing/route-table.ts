import { canonicalHost } from '../wire/host.ts'
import type { Route } from './route.ts'

const maxAliases = 10_000

/** The routes of one host, best match first. */
export class HostRoutes {
  readonly #routes: Route[] = []
  /** Set when there is nothing to choose between. */
  only: Route | undefined

  get empty(): boolean {
    return this.#routes.length === 0
  }

  add(route: Route): void {
    this.#routes.push(route)
    this.#routes.sort(byPrecision)
    this.#note()
  }

  remove(route: Route): void {
    const at = this.#routes.indexOf(route)
    if (at >= 0) this.#routes.splice(at, 1)
    this.#note()
  }

  /** The most exact route for a path. */
  match(path: string): Route | undefined {
    return this.#routes.find(({ config }) => hasPrefix(path, config.pathPrefix))
  }

  #note(): void {
    const [first] = this.#routes
    this.only = this.#routes.length === 1 && first?.config.pathPrefix === '/' ? first : undefined
  }
}

/** Finds the routes of a host: the exact name, else the longest wildcard, else the catch-all. */
export class RouteTable {
  readonly #hosts = new Map<string, HostRoutes>()
  /** Hosts as clients wrote them. Bounded, and emptied by every change. */
  readonly #aliases = new Map<string, HostRoutes>()
  #wildcards = 0

  add(route: Route): void {
    for (const host of route.config.hosts) {
      let routes = this.#hosts.get(host)
      if (!routes) {
        this.#hosts.set(host, (routes = new HostRoutes()))
        if (host.startsWith('*')) this.#wildcards++
      }
      routes.add(route)
    }
    this.#aliases.clear()
  }

  remove(route: Route): void {
    for (const host of route.config.hosts) {
      const routes = this.#hosts.get(host)
      routes?.remove(route)
      if (!routes?.empty) continue
      this.#hosts.delete(host)
      if (host.startsWith('*')) this.#wildcards--
    }
    this.#aliases.clear()
  }

  /** The routes for a Host as it stood on the wire; `invalid` when it is no host at all. */
  find(raw: string): HostRoutes | 'invalid' | undefined {
    const known = this.#aliases.get(raw)
    if (known) return known
    const host = raw === '' ? '' : canonicalHost(raw)
    if (host === undefined) return 'invalid'
    const routes = this.#hosts.get(host) ?? this.#wildcard(host)
    if (routes && this.#aliases.size < maxAliases) this.#aliases.set(raw, routes)
    return routes
  }

  #wildcard(host: string): HostRoutes | undefined {
    if (this.#wildcards === 0) return undefined
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const routes = this.#hosts.get(`*${host.slice(dot)}`)
      if (routes) return routes
    }
    return this.#hosts.get('*')
  }
}

function byPrecision({ config: a }: Route, { config: b }: Route): number {
  return b.pathPrefix.length - a.pathPrefix.length || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

/** Prefixes end at segment borders: `/api` covers `/api` and `/api/x`, not `/apis`. */
function hasPrefix(path: string, prefix: string): boolean {
  if (prefix === '/') return true
  if (!path.startsWith(prefix)) return false
  if (prefix.endsWith('/') || path.length === prefix.length) return true
  const next = path[prefix.length]
  return next === '/' || next === '?'
}
