/** What a registry says of one instance. */
interface Registered {
  readonly status: string
  readonly updatedAt: number | undefined
}

/** By the id of an instance: everything that is registered for it. */
export type Registry = ReadonlyMap<string, readonly Registered[]>

/** What Swabbie's rules ask about discovery. A fact that is not known is left out. */
export interface DiscoveryFacts {
  readonly isOutOfDiscovery?: boolean
  /** Since when the last of them has been out. */
  readonly outOfDiscoverySince?: number
}

const timeoutMs = 15_000

/** Reads everything a Eureka server knows. Throws when that cannot be had whole. */
export async function readRegistry(url: string): Promise<Registry> {
  const response = await fetch(`${url.replace(/\/$/, '')}/apps`, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) throw new Error(`Eureka answered ${response.status}`)
  const { applications } = (await response.json()) as Answer
  if (!applications) throw new Error('Eureka answered something else than applications')
  const instances = listOf(applications.application).flatMap(({ instance }) => listOf(instance))
  const entries = instances.map(({ instanceId = '', status = '', lastUpdatedTimestamp, dataCenterInfo }) => ({
    id: dataCenterInfo?.metadata?.['instance-id'] ?? instanceId,
    status,
    updatedAt: Number(lastUpdatedTimestamp) || undefined,
  }))
  return Map.groupBy(entries, ({ id }) => id)
}

/** Out of discovery is a group all of whose instances are registered, and taken out of service. */
export function discoveryFacts(instanceIds: readonly string[], registry: Registry | undefined): DiscoveryFacts {
  if (!registry) return {}
  const registered = instanceIds.map((id) => registry.get(id) ?? [])
  const all = registered.flat()
  if (all.some(({ status }) => status !== 'OUT_OF_SERVICE')) return { isOutOfDiscovery: false }
  // What never registered may well be in use without: nothing is known of it.
  if (registered.some(({ length }) => length === 0)) return {}
  const times = all.flatMap(({ updatedAt }) => updatedAt ?? [])
  const isDated = times.length > 0 && times.length === all.length
  return { isOutOfDiscovery: true, ...(isDated ? { outOfDiscoverySince: Math.max(...times) } : {}) }
}

interface Answer {
  readonly applications?: { readonly application?: OneOrMore<{ readonly instance?: OneOrMore<Instance> }> }
}

interface Instance {
  readonly instanceId?: string
  readonly status?: string
  readonly lastUpdatedTimestamp?: string | number
  readonly dataCenterInfo?: { readonly metadata?: Readonly<Record<string, string>> }
}

/** Older servers leave out the brackets around a single one. */
type OneOrMore<T> = T | readonly T[]

function listOf<T>(given: OneOrMore<T> | undefined): readonly T[] {
  return given === undefined ? [] : Array.isArray(given) ? given : [given as T]
}
