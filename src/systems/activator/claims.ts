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
  readonly id: string
  readonly domain: string
  readonly owner: string
}

export interface Settlement {
  /** The domains each Service has, in the order it named them. */
  readonly granted: ReadonlyMap<string, readonly string[]>
  readonly lost: readonly LostDomain[]
}

/** Gives every domain to the oldest Service that asks for it: every replica comes to the same result by itself. */
export function settleClaims(claims: readonly Claim[]): Settlement {
  const owners = new Map<string, string>()
  const granted = new Map<string, readonly string[]>()
  const lost: LostDomain[] = []
  for (const claim of claims.toSorted(byAge)) {
    const given = claim.domains.filter((domain) => {
      const key = `${domain} ${claim.pathPrefix}`
      const owner = owners.get(key)
      if (owner !== undefined && owner !== claim.id) lost.push({ id: claim.id, domain, owner })
      else owners.set(key, claim.id)
      return owner === undefined || owner === claim.id
    })
    granted.set(claim.id, given)
  }
  return { granted, lost }
}

function byAge(a: Claim, b: Claim): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1
  return a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0
}

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
  return `${name}-proxless`
}
