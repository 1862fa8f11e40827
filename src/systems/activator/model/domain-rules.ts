/** The Service that has claimed a domain first, as it is stored. */
export interface HeldDomain {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** Milliseconds since the epoch. */
  readonly since: number
  /** Since when no Service of that namespace claims it. */
  readonly goneSince?: number
}

/** Which namespace may have a domain: Namespaces' annotations decide, then the stored claims. Hosts are canonical. */
export class DomainRules {
  readonly #requireGrant: boolean
  #held: ReadonlyMap<string, HeldDomain> = new Map()
  /** By namespace: what its annotation reserves for it. */
  #grants: ReadonlyMap<string, readonly string[]> = new Map()

  constructor({ requireGrant = false }: { readonly requireGrant?: boolean } = {}) {
    this.#requireGrant = requireGrant
  }

  get held(): ReadonlyMap<string, HeldDomain> {
    return this.#held
  }

  use(rules: {
    readonly held?: ReadonlyMap<string, HeldDomain>
    readonly grants?: ReadonlyMap<string, readonly string[]>
  }): void {
    this.#held = rules.held ?? this.#held
    this.#grants = rules.grants ?? this.#grants
  }

  /** Whether Services of a namespace may have a host, as far as other namespaces are concerned. */
  mayHave(namespace: string, host: string): boolean {
    const inside = clusterNamespace(host)
    if (inside !== undefined && inside !== namespace) return false
    if (this.#isGranted(namespace, host)) return !this.#isHeldByGranted(namespace, host)
    if (this.#requireGrant) return false
    for (const [other, reserved] of this.#grants)
      if (other !== namespace && reserved.some((each) => overlap(each, host))) return false
    return !this.#isHeldByOther(namespace, host)
  }

  #isGranted(namespace: string, host: string): boolean {
    return (this.#grants.get(namespace) ?? []).some((each) => covers(each, host))
  }

  /** Where two namespaces are granted the same host, the stored claim decides. */
  #isHeldByGranted(namespace: string, host: string): boolean {
    const holder = this.#held.get(host)?.namespace
    return holder !== undefined && holder !== namespace && this.#isGranted(holder, host)
  }

  /** A wildcard and the hosts below it belong to one namespace. The catch-all has only what is left. */
  #isHeldByOther(namespace: string, host: string): boolean {
    const isOthers = (held: string) => (this.#held.get(held)?.namespace ?? namespace) !== namespace
    if (isOthers(host) || wildcardsOver(host).some(isOthers)) return true
    if (!host.startsWith('*.')) return false
    for (const held of this.#held.keys()) if (covers(host, held) && isOthers(held)) return true
    return false
  }
}

/** Whether a host, or a wildcard `*.rest`, includes another host or wildcard. */
function covers(outer: string, host: string): boolean {
  return outer === host || (outer.startsWith('*.') && host.endsWith(outer.slice(1)))
}

/** Whether one of two hosts or wildcards includes the other. */
export function overlap(one: string, other: string): boolean {
  return covers(one, other) || covers(other, one)
}

/** The wildcards that include a host. */
export function wildcardsOver(host: string): readonly string[] {
  const labels = host.replace(/^\*\./, '').split('.')
  return labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
}

/** The namespace of a name inside the cluster, such as `web.shop.svc`. */
function clusterNamespace(host: string): string | undefined {
  const match = /([^.*]+)\.svc(?:\.cluster\.local)?$/.exec(host)
  return match?.[1] ?? (/^\*(?:\.svc)?\.cluster\.local$|^\*\.svc$/.test(host) ? '' : undefined)
}
