import { readAnswer } from '../../../../parsing/answer.ts'
import type { Http } from '../../../../runtime/http/http.ts'

/** One registration of an instance. */
interface Registered {
  readonly status: string
  readonly updatedAt: number | undefined
}

/** Registrations by instance id. */
export type Registry = ReadonlyMap<string, readonly Registered[]>

/** The facts about discovery that Swabbie's rules read. Unknown facts are absent. */
export interface DiscoveryFacts {
  readonly isOutOfDiscovery?: boolean
  /** When the last instance was taken out of service. */
  readonly outOfDiscoverySince?: number
}

/** A registry of some twenty thousand instances. */
const maxBytes = 32 * 1024 * 1024

/** Reads all registrations of a Eureka server; throws when the response is incomplete. */
export async function readRegistry(http: Http, url: string): Promise<Registry> {
  const { status, body } = await http({
    method: 'GET',
    url: `${url.replace(/\/$/, '')}/apps`,
    headers: { accept: 'application/json' },
    maxBytes,
  })
  if (status < 200 || status > 299) throw new Error(`Eureka answered ${status}`)
  const { applications } = await readAnswer<Answer>(body)
  if (!applications) throw new Error('Eureka answered without applications')
  const instances = listOf(applications.application).flatMap(({ instance }) => listOf(instance))
  const entries = instances.map(({ instanceId = '', status = '', lastUpdatedTimestamp, dataCenterInfo }) => ({
    id: dataCenterInfo?.metadata?.['instance-id'] ?? instanceId,
    status,
    updatedAt: Number(lastUpdatedTimestamp) || undefined,
  }))
  return Map.groupBy(entries, ({ id }) => id)
}

/** A group is out of discovery when all its instances are registered and out of service. */
export function discoveryFacts(instanceIds: readonly string[], registry: Registry | undefined): DiscoveryFacts {
  if (!registry) return {}
  const registered = instanceIds.map((id) => registry.get(id) ?? [])
  const all = registered.flat()
  if (all.some(({ status }) => status !== 'OUT_OF_SERVICE')) return { isOutOfDiscovery: false }
  // An instance that never registered may be in use without discovery: its state is unknown.
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

/** Older servers send a single element without the array. */
type OneOrMore<T> = T | readonly T[]

function listOf<T>(given: OneOrMore<T> | undefined): readonly T[] {
  return given === undefined ? [] : Array.isArray(given) ? given : [given as T]
}
