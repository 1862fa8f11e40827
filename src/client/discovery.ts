import { apiVersionOf, groupResource, parseApiVersion, type ResourceType } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'

/** A served resource with the names people call it by. */
export interface DiscoveredType extends ResourceType {
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly string[]
}

/** What a cluster serves. Remembers each group version it has read until told to forget. */
export class Discovery {
  readonly #read: (path: string) => Promise<unknown>
  /** By `group/version`; a failed read is not kept. */
  readonly #versions = new Map<string, Promise<readonly DiscoveredType[]>>()
  #groups: Promise<readonly string[]> | undefined

  constructor(read: (path: string) => Promise<unknown>) {
    this.#read = read
  }

  /** The type of a manifest's apiVersion and kind; the kind's case does not matter. Undefined when it is not served. */
  async typeOf({
    apiVersion,
    kind,
  }: {
    readonly apiVersion: string
    readonly kind: string
  }): Promise<DiscoveredType | undefined> {
    const types = await this.#typesOf(apiVersion)
    return (
      types.find((type) => type.kind === kind) ?? types.find((type) => type.kind.toLowerCase() === kind.toLowerCase())
    )
  }

  /** By any name kubectl takes: kind, plural, singular, short name, `name.group` or `name.version.group`, in any case. */
  async find(name: string): Promise<DiscoveredType | undefined> {
    const [first] = await this.findAll(name)
    return first
  }

  /** Every type of that name: several groups may serve a kind that is called the same. */
  async findAll(name: string): Promise<readonly DiscoveredType[]> {
    const wanted = name.toLowerCase()
    const all = await this.all()
    return all.filter((type) => namesOf(type).includes(wanted))
  }

  /** Every served type, each group's preferred version first. A group that cannot be read is left out. */
  async all(): Promise<readonly DiscoveredType[]> {
    return (await this.survey()).types
  }

  /** Every served type that can be read, and the group versions that cannot: what is of them is unknown, not gone. */
  async survey(): Promise<{ readonly types: readonly DiscoveredType[]; readonly unread: readonly string[] }> {
    const unread: string[] = []
    const types = await this.#every((version) =>
      this.#typesOf(version).catch(() => {
        unread.push(version)
        return []
      }),
    )
    return { types, unread }
  }

  /** Every served type. Throws when one group cannot be read. */
  complete(): Promise<readonly DiscoveredType[]> {
    return this.#every((version) => this.#typesOf(version))
  }

  /** Asks anew from now on; of one group version only, where that is named. */
  forget(apiVersion?: string): void {
    if (apiVersion !== undefined) return void this.#versions.delete(apiVersion)
    this.#versions.clear()
    this.#groups = undefined
  }

  async #every(read: (version: string) => Promise<readonly DiscoveredType[]>): Promise<readonly DiscoveredType[]> {
    const versions = await (this.#groups ??= this.#readGroups().catch((error: unknown) => {
      this.#groups = undefined
      throw error
    }))
    return (await Promise.all(versions.map(read))).flat()
  }

  #typesOf(apiVersion: string): Promise<readonly DiscoveredType[]> {
    return this.#versions.getOrInsertComputed(apiVersion, () => {
      const reading = this.#readVersion(apiVersion)
      // Absence is not kept either: a CRD may come at any time.
      const forget = () => {
        if (this.#versions.get(apiVersion) === reading) this.#versions.delete(apiVersion)
      }
      reading.then((types) => types.length === 0 && forget(), forget)
      return reading
    })
  }

  async #readVersion(apiVersion: string): Promise<readonly DiscoveredType[]> {
    const { group, version } = parseApiVersion(apiVersion)
    // Tenants name kinds: no text leads to another path.
    const [root, ...names] = group ? ['/apis', group, version] : ['/api', version]
    const path = [root, ...names.map(encodeURIComponent)].join('/')
    try {
      const { resources = [] } = (await this.#read(path)) as { resources?: readonly WireResource[] }
      return resources
        .filter(({ name }) => !name.includes('/'))
        .map((resource) => ({
          group,
          version,
          kind: resource.kind,
          plural: resource.name,
          namespaced: resource.namespaced,
          singular: resource.singularName || resource.kind.toLowerCase(),
          shortNames: resource.shortNames ?? [],
          verbs: resource.verbs ?? [],
          subresources: resources
            .filter(({ name }) => name.startsWith(`${resource.name}/`))
            .map(({ name }) => name.slice(resource.name.length + 1)),
        }))
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return []
      throw error
    }
  }

  async #readGroups(): Promise<readonly string[]> {
    const { groups = [] } = (await this.#read('/apis')) as { groups?: readonly WireGroup[] }
    const named = groups.flatMap(({ versions, preferredVersion }) => {
      const all = versions.map(({ groupVersion }) => groupVersion)
      const preferred = preferredVersion?.groupVersion
      return preferred ? [preferred, ...all.filter((version) => version !== preferred)] : all
    })
    return ['v1', ...named]
  }
}

/** Each kind in the first of its versions: all of them serve the same objects. */
export function eachKindOnce(types: readonly DiscoveredType[]): readonly DiscoveredType[] {
  return [...Map.groupBy(types, groupResource).values()].flatMap((versions) => versions.slice(0, 1))
}

interface WireResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly singularName?: string
  readonly shortNames?: readonly string[]
  readonly verbs?: readonly string[]
}

interface WireGroup {
  readonly name: string
  readonly versions: readonly { readonly groupVersion: string }[]
  readonly preferredVersion?: { readonly groupVersion: string }
}

function namesOf({ kind, plural, singular, shortNames, group, version }: DiscoveredType): readonly string[] {
  const short = [kind.toLowerCase(), plural, singular, ...shortNames]
  if (!group) return short
  return [
    ...short,
    ...short.map((name) => `${name}.${group}`),
    ...short.map((name) => `${name}.${version}.${group}`),
    `${plural}.${apiVersionOf({ group, version })}`,
  ]
}
