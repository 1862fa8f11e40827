import { overlap, wildcardsOver, type DomainRules } from './domain-rules.ts'

/** A Service's claim to hosts. */
export interface Claim {
  /** `namespace/name` of the Service. */
  readonly id: string
  readonly uid: string
  /** RFC 3339, as the server stamped it. */
  readonly createdAt: string
  readonly domains: readonly string[]
  /** Its names inside the cluster: no other Service gets them, however old it is. */
  readonly inner: readonly string[]
  /** Services of one namespace may share a host as long as their path prefixes differ. */
  readonly pathPrefix: string
}

/** A domain that a Service asked for and another Service owns. */
export interface LostDomain {
  readonly domain: string
  /** Undefined where it is reserved for a namespace in which no Service claims it now. */
  readonly owner: string | undefined
}

/** The owners of a domain: the first claim overall and, in its namespace, the first claim of each path prefix. */
interface HostOwners {
  readonly first: Claim
  readonly byPath: ReadonlyMap<string, Claim>
}

/**
 * Grants every domain to a namespace that may have it by the rules; where several may, to that of the oldest Service. Services
 * of one namespace share it by path prefix. The result does not depend on the order of claims, so all replicas agree.
 */
export class HostClaims {
  readonly #rules: Pick<DomainRules, 'mayHave'>
  readonly #claims = new Map<string, Claim>()
  /** The Services that claim a domain. */
  readonly #contenders = new Map<string, Set<string>>()

  constructor(rules: Pick<DomainRules, 'mayHave'> = { mayHave: () => true }) {
    this.#rules = rules
  }

  /** Replaces a Service's claim; returns the other Services whose domains changed. */
  set(claim: Claim): ReadonlySet<string> {
    return this.#change(claim.id, claim)
  }

  remove(id: string): ReadonlySet<string> {
    return this.#change(id, undefined)
  }

  /** The domains a Service has, in the order it named them. */
  granted(id: string): string[] {
    const claim = this.#claims.get(id)
    return claim ? hostsOf(claim).filter((domain) => ownerFor(claim, this.#ownersOf(domain)) === id) : []
  }

  /** The domains a Service asked for and did not get. */
  lost(id: string): LostDomain[] {
    const claim = this.#claims.get(id)
    if (!claim) return []
    return hostsOf(claim).flatMap((domain) => {
      const owner = ownerFor(claim, this.#ownersOf(domain))
      return owner === id ? [] : [{ domain, owner }]
    })
  }

  /** Other Services that claim a domain of this one, and do not share it by path; those of other namespaces also by a wildcard. */
  rivals(id: string): ReadonlySet<string> {
    const claim = this.#claims.get(id)
    const rivals = new Set<string>()
    for (const domain of claim?.domains ?? [])
      for (const host of this.#overlapping(domain))
        for (const other of this.#contenders.get(host) ?? [])
          if (claim && other !== id && areRivals(claim, this.#claims.get(other), host === domain)) rivals.add(other)
    return rivals
  }

  #overlapping(domain: string): readonly string[] {
    const below = domain.startsWith('*.') ? [...this.#contenders.keys()].filter((host) => overlap(domain, host)) : []
    return [...new Set([domain, ...wildcardsOver(domain), ...below])]
  }

  isClaimedIn(namespace: string, domain: string): boolean {
    return [...(this.#contenders.get(domain) ?? [])].some((id) => id.startsWith(`${namespace}/`))
  }

  /** The owner of each domain, without names inside the cluster. */
  *owners(): Generator<readonly [string, { readonly namespace: string; readonly name: string; readonly uid: string }]> {
    for (const host of this.#contenders.keys()) {
      const first = this.#ownersOf(host)?.first
      if (!first?.domains.includes(host)) continue
      const namespace = namespaceOf(first)
      yield [host, { namespace, name: first.id.slice(namespace.length + 1), uid: first.uid }]
    }
  }

  #change(id: string, claim: Claim | undefined): ReadonlySet<string> {
    const former = hostsOf(this.#claims.get(id))
    const hosts = hostsOf(claim)
    const before = new Map([...former, ...hosts].map((host) => [host, this.#ownersOf(host)]))
    for (const host of former) this.#leave(host, id)
    if (claim) this.#claims.set(id, claim)
    else this.#claims.delete(id)
    for (const host of hosts) this.#contenders.getOrInsertComputed(host, () => new Set()).add(id)
    const affected = new Set<string>()
    for (const [host, was] of before) {
      const is = this.#ownersOf(host)
      for (const each of this.#contenders.get(host) ?? []) {
        const other = this.#claims.get(each)
        if (other && each !== id && ownerFor(other, was) !== ownerFor(other, is)) affected.add(each)
      }
    }
    return affected
  }

  #leave(host: string, id: string): void {
    const contenders = this.#contenders.get(host)
    contenders?.delete(id)
    if (contenders?.size === 0) this.#contenders.delete(host)
  }

  #ownersOf(host: string): HostOwners | undefined {
    const claims = [...(this.#contenders.get(host) ?? [])]
      .flatMap((id) => this.#claims.get(id) ?? [])
      .filter((claim) => claim.inner.includes(host) || this.#rules.mayHave(namespaceOf(claim), host))
    const first = claims.reduce<Claim | undefined>((best, each) => better(best, each, host), undefined)
    if (!first) return undefined
    const byPath = new Map<string, Claim>()
    for (const each of claims)
      if (namespaceOf(each) === namespaceOf(first))
        byPath.set(each.pathPrefix, better(byPath.get(each.pathPrefix), each, host))
    return { first, byPath }
  }
}

/** The Service that owns a domain at the claim's path prefix. */
function ownerFor(claim: Claim, owners: HostOwners | undefined): string | undefined {
  if (!owners) return undefined
  const { first, byPath } = owners
  return namespaceOf(claim) === namespaceOf(first) ? byPath.get(claim.pathPrefix)?.id : first.id
}

function areRivals(one: Claim, other: Claim | undefined, isSameHost: boolean): boolean {
  if (other === undefined) return false
  return namespaceOf(one) !== namespaceOf(other) || (isSameHost && one.pathPrefix === other.pathPrefix)
}

function hostsOf(claim: Claim | undefined): readonly string[] {
  return claim ? [...new Set([...claim.domains, ...claim.inner])] : []
}

function namespaceOf({ id }: Claim): string {
  return id.slice(0, Math.max(0, id.indexOf('/')))
}

/** The Service whose cluster-internal name the host is; else the older one; else the one with the smaller uid. */
function better(one: Claim | undefined, other: Claim, host: string): Claim {
  if (!one) return other
  const isOnes = one.inner.includes(host)
  if (isOnes !== other.inner.includes(host)) return isOnes ? one : other
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? one : other
  return one.uid <= other.uid ? one : other
}

const companionSuffix = '-proxless'

/** The names by which callers inside the cluster reach a Service; the bare name only where one namespace is watched. */
export function innerHosts(namespace: string, name: string, namespaced: boolean): string[] {
  const names = [name, companionName(name)]
  const suffixes = [
    `.${namespace}`,
    `.${namespace}.svc`,
    `.${namespace}.svc.cluster.local`,
    ...(namespaced ? [''] : []),
  ]
  return names.flatMap((each) => suffixes.map((suffix) => `${each}${suffix}`))
}

/** The name of the companion Service, through which callers inside the cluster reach the proxy. */
export function companionName(name: string): string {
  return `${name}${companionSuffix}`
}

/** The Service that a companion of this name belongs to; undefined when it is no name of a companion. */
export function companionBase(name: string): string | undefined {
  return name.endsWith(companionSuffix) ? name.slice(0, -companionSuffix.length) : undefined
}
