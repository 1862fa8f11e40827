/** A Service's claim to hosts. */
export interface Claim {
  /** `namespace/name` of the Service. */
  readonly id: string
  readonly uid: string
  /** RFC 3339, as the server stamped it. */
  readonly createdAt: string
  readonly domains: readonly string[]
  /** Claims to one host stand side by side as long as their paths differ. */
  readonly pathPrefix: string
}

/** A domain that a Service asked for and another one has. */
export interface LostDomain {
  readonly domain: string
  readonly owner: string
}

/** Gives every domain to the oldest Service that asks for it: every replica comes to the same result by itself. */
export class ClaimBook {
  readonly #claims = new Map<string, Claim>()
  /** Who asks for a domain, by domain and path. */
  readonly #contenders = new Map<string, Set<string>>()

  /** Takes a claim in place of the Service's former one; answers the other Services whose domains changed by it. */
  set(claim: Claim): ReadonlySet<string> {
    return this.#change(claim.id, claim)
  }

  remove(id: string): ReadonlySet<string> {
    return this.#change(id, undefined)
  }

  /** The domains a Service has, in the order it named them. */
  granted(id: string): string[] {
    const claim = this.#claims.get(id)
    return claim ? claim.domains.filter((domain) => this.#owner(placeOf(domain, claim)) === id) : []
  }

  /** The domains a Service asked for in vain. */
  lost(id: string): LostDomain[] {
    const claim = this.#claims.get(id)
    if (!claim) return []
    return claim.domains.flatMap((domain) => {
      const owner = this.#owner(placeOf(domain, claim))
      return owner === undefined || owner === id ? [] : [{ domain, owner }]
    })
  }

  #change(id: string, claim: Claim | undefined): ReadonlySet<string> {
    const former = this.#claims.get(id)
    const places = new Set([...placesOf(former), ...placesOf(claim)])
    const before = new Map([...places].map((place) => [place, this.#owner(place)]))
    for (const place of placesOf(former)) this.#leave(place, id)
    if (claim) this.#claims.set(id, claim)
    else this.#claims.delete(id)
    for (const place of placesOf(claim)) {
      const contenders = this.#contenders.get(place)
      if (contenders) contenders.add(id)
      else this.#contenders.set(place, new Set([id]))
    }
    const affected = new Set<string>()
    for (const place of places) {
      const [was, is] = [before.get(place), this.#owner(place)]
      if (was === is) continue
      for (const each of this.#contenders.get(place) ?? []) if (each !== id) affected.add(each)
    }
    return affected
  }

  #leave(place: string, id: string): void {
    const contenders = this.#contenders.get(place)
    contenders?.delete(id)
    if (contenders?.size === 0) this.#contenders.delete(place)
  }

  #owner(place: string): string | undefined {
    let oldest: Claim | undefined
    for (const id of this.#contenders.get(place) ?? []) {
      const claim = this.#claims.get(id)
      if (claim && (!oldest || byAge(claim, oldest) < 0)) oldest = claim
    }
    return oldest?.id
  }
}

function placesOf(claim: Claim | undefined): string[] {
  return claim ? claim.domains.map((domain) => placeOf(domain, claim)) : []
}

function placeOf(domain: string, { pathPrefix }: Claim): string {
  return `${domain} ${pathPrefix}`
}

function byAge(a: Claim, b: Claim): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1
  return a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0
}

const companionSuffix = '-proxless'

/** The names by which callers inside the cluster reach a Service; the bare one only where it cannot be another's. */
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

/** The Service that leads callers inside the cluster through the proxy. */
export function companionName(name: string): string {
  return `${name}${companionSuffix}`
}

/** The Service that one of this name would accompany. */
export function companionBase(name: string): string | undefined {
  return name.endsWith(companionSuffix) ? name.slice(0, -companionSuffix.length) : undefined
}
