import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { createHash } from 'node:crypto'
import { sojournNamespace } from '../../../apis/group.ts'
import { configMaps, namespaces } from '../../../kube/core-types.ts'
import type { StoredObject } from '../../../kube/object.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import type { DomainRules, HeldDomain } from '../model/domain-rules.ts'
import type { HostClaims } from '../model/host-claims.ts'
import { configuredHost } from '../proxy/wire/host.ts'
import { domainShards } from './access.ts'

/** On a Namespace: hosts that only its Services may have. */
export const domainsAnnotation = 'sojourn.dev/domains'

const label = { 'sojourn.dev/holds': 'domains' }

export interface DomainStoreParts extends Pick<ProcessParts, 'client' | 'informers' | 'clock' | 'log'> {
  readonly rules: DomainRules
  readonly claims: HostClaims
  /** Whether this replica writes claims: it leads, and has read every Service. */
  readonly mayWrite: () => boolean
  /** Called when other hosts may belong to other Services. */
  readonly onChange: () => void
  /** How long a domain stays with its namespace after the last Service there has given it up. */
  readonly releaseAfterMs: number
}

type DomainMap = StoredObject & { readonly data?: Readonly<Record<string, string>> }

/** Of one namespace, those given up lately included: the ConfigMaps of all namespaces hold some 50,000. */
const maxClaims = 500

/** Keeps who has claimed which domain in ConfigMaps, so that the first claim wins whatever is annotated later. */
export class DomainStore {
  readonly #parts: DomainStoreParts
  readonly #maps: Informer<DomainMap>
  readonly #namespaces: Informer
  #isWriting = false

  constructor(parts: DomainStoreParts) {
    const { client, informers } = parts
    this.#parts = parts
    const [[name, value]] = Object.entries(label) as [[string, string]]
    this.#maps = informers.open<DomainMap>(client, configMaps, {
      namespace: sojournNamespace,
      labelSelector: `${name}=${value}`,
    })
    this.#namespaces = informers.open(client, namespaces, { metadataOnly: true })
    this.#maps.subscribe(({ initial }) => initial || this.#refresh())
    this.#namespaces.subscribe(({ initial, object }) => initial || this.#namespaceChanged(object))
  }

  /** Resolves when claims and Namespaces have been read, or cannot be within ten seconds. */
  async load(): Promise<void> {
    const { clock, log } = this.#parts
    const both = [this.#maps, this.#namespaces]
    await Promise.race([
      Promise.all(both.map((informer) => informer.whenSynced())),
      this.#untilTrouble(),
      sleep(clock, 10_000),
    ])
    if (!this.#isKnown) log.error('domain claims cannot be read: the oldest Service gets a domain', {})
    this.#refresh()
  }

  /** Stores new claims and frees those that were given up; false when that must wait. */
  async write(): Promise<boolean> {
    if (this.#isWriting || !this.#isKnown || !this.#parts.mayWrite()) return false
    this.#isWriting = true
    try {
      const { held } = this.#parts.rules
      const wanted = nextClaims(held, this.#parts.claims, this.#parts)
      for (const shard of domainShards.keys()) {
        const claims = new Map([...wanted].filter(([host]) => shardOf(host) === shard))
        if (textOf(claims) !== textOf(new Map([...held].filter(([host]) => shardOf(host) === shard))))
          await this.#store(shard, claims)
      }
      return true
    } catch (error) {
      this.#parts.log.error('domain claims cannot be stored', { error: (error as Error).message })
      return true
    } finally {
      this.#isWriting = false
    }
  }

  close(): void {
    this.#maps.close()
    this.#namespaces.close()
  }

  get #isKnown(): boolean {
    return this.#maps.synced && this.#namespaces.synced
  }

  #untilTrouble(): Promise<void> {
    return new Promise((resolve) => {
      for (const informer of [this.#maps, this.#namespaces]) informer.onError((error) => error && resolve())
    })
  }

  async #store(shard: number, claims: ReadonlyMap<string, HeldDomain>): Promise<void> {
    const { client } = this.#parts
    const name = domainShards[shard]!
    const stored = this.#maps.get(sojournNamespace, name)
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...stored?.metadata, namespace: sojournNamespace, name, labels: label },
      data: { claims: textOf(claims) },
    }
    if (stored) await client.update(configMaps, map as StoredObject)
    else await client.create(configMaps, map)
  }

  #namespaceChanged({ metadata }: StoredObject): void {
    if (this.#grantsText !== textOf(this.#grants()) || metadata.annotations?.[domainsAnnotation]) this.#refresh()
  }

  #grantsText = ''

  #grants(): ReadonlyMap<string, readonly string[]> {
    return new Map(
      this.#namespaces.list().flatMap(({ metadata: { name, annotations } }) => {
        const hosts = (annotations?.[domainsAnnotation] ?? '')
          .split(/[\s,]+/)
          .flatMap((text) => configuredHost(text) ?? [])
        return hosts.length === 0 ? [] : [[name, hosts] as const]
      }),
    )
  }

  #refresh(): void {
    const { rules, onChange } = this.#parts
    const grants = this.#grants()
    this.#grantsText = textOf(grants)
    rules.use({ held: new Map(this.#maps.list().flatMap(claimsIn)), grants })
    onChange()
  }
}

/** What is to be stored: the owners there are, and former ones until their time is over. */
function nextClaims(
  held: ReadonlyMap<string, HeldDomain>,
  claims: HostClaims,
  { clock, releaseAfterMs }: Pick<DomainStoreParts, 'clock' | 'releaseAfterMs'>,
): ReadonlyMap<string, HeldDomain> {
  const now = clock.now()
  const next = new Map<string, HeldDomain>()
  for (const [host, claim] of held) {
    const goneSince = claim.goneSince ?? now
    if (claims.isClaimedIn(claim.namespace, host)) next.set(host, withoutGone(claim))
    else if (now - goneSince < releaseAfterMs) next.set(host, { ...claim, goneSince })
  }
  const counts = new Map<string, number>()
  for (const { namespace } of next.values()) counts.set(namespace, (counts.get(namespace) ?? 0) + 1)
  for (const [host, owner] of claims.owners()) {
    if (next.get(host)?.namespace === owner.namespace) continue
    const count = (counts.get(owner.namespace) ?? 0) + 1
    if (count > maxClaims) continue
    counts.set(owner.namespace, count)
    next.set(host, { ...owner, since: now })
  }
  return next
}

function withoutGone({ goneSince: _, ...claim }: HeldDomain): HeldDomain {
  return claim
}

function claimsIn({ data }: DomainMap): readonly (readonly [string, HeldDomain])[] {
  try {
    return JSON.parse(data?.claims ?? '[]') as readonly (readonly [string, HeldDomain])[]
  } catch {
    return []
  }
}

function textOf(map: ReadonlyMap<string, unknown>): string {
  return JSON.stringify([...map].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function shardOf(host: string): number {
  return createHash('sha256').update(host).digest().readUInt8(0) % domainShards.length
}
