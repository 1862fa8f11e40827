import type { Client } from '../../client/client.ts'
import { describeRef, refOf, type KubeObject, type ResourceType } from '../../kube/object.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import type { PageLine } from '../records/pages.ts'

/** The kinds of the restored objects: as the server serves them or, if it does not yet, as a restored definition describes them. */
export class RestoredKinds {
  /** By apiVersion and kind. */
  readonly #types = new Map<string, ResourceType>()
  /** The definitions of kinds that are not served. */
  readonly #definitions = new Map<string, PageLine>()

  /** Throws Invalid if a kind is neither served nor defined by a restored definition. */
  static async read(client: Client, lines: readonly PageLine[]): Promise<RestoredKinds> {
    const kinds = new RestoredKinds()
    const definitions = lines.filter(({ manifest }) => isDefinition(manifest))
    // Kinds may have been added or removed since the last discovery.
    client.discovery.forget()
    for (const { manifest } of lines) {
      const name = kindName(manifest)
      if (kinds.#types.has(name)) continue
      const served = await client.discovery.typeOf(manifest)
      const definition = served ? undefined : definitions.find((line) => typeIn(line, manifest))
      const type = served ?? (definition && typeIn(definition, manifest))
      if (!type)
        throw new StatusError('Invalid', `${name} is not served any more: install its CustomResourceDefinition first`)
      kinds.#types.set(name, type)
      if (definition) kinds.#definitions.set(name, definition)
    }
    return kinds
  }

  typeOf(manifest: KubeObject): ResourceType {
    const type = this.#types.get(kindName(manifest))
    if (!type) throw new Error(`no type for ${kindName(manifest)}`)
    return type
  }

  /** The restored definition that must exist before objects of this kind; undefined if the kind is served. */
  definitionOf(manifest: KubeObject): PageLine | undefined {
    return this.#definitions.get(kindName(manifest))
  }

  /** Whether a definition is the one of a kind that is not served yet. */
  isAwaited(definition: PageLine): boolean {
    return this.#definitions.values().some(({ uid }) => uid === definition.uid)
  }
}

/** Resolves when the kinds of all objects in a wave are served. Throws Timeout after `attempts`. */
export async function whenServed(
  client: Client,
  lines: readonly PageLine[],
  wave: readonly PageLine[],
): Promise<RestoredKinds> {
  for (let attempt = 1; ; attempt++) {
    const kinds = await RestoredKinds.read(client, lines)
    const definition = wave.map(({ manifest }) => kinds.definitionOf(manifest)).find((each) => each !== undefined)
    if (!definition) return kinds
    const ref = refOf(definition.manifest)
    if (attempt === attempts)
      throw new StatusError(
        'Timeout',
        `${describeRef(ref)} was restored, but its kind is not served yet: run the restore again`,
      )
    await nextChange(client, await servedType(client, definition.manifest), ref.name)
  }
}

/** Whether an object is a CustomResourceDefinition. */
export function isDefinition({ apiVersion, kind }: KubeObject): boolean {
  return kind === 'CustomResourceDefinition' && apiVersion.startsWith('apiextensions.k8s.io/')
}

/** Waits for a change of the definition, such as its Established condition, or for one second. */
async function nextChange(client: Client, type: ResourceType, name: string): Promise<void> {
  try {
    const found = await client.get<{ metadata: { resourceVersion: string } }>(type, { name })
    const { resourceVersion } = found.metadata
    const options = { fieldSelector: `metadata.name=${name}`, resourceVersion, timeoutSeconds: 1 }
    for await (const _ of client.watch(type, options)) return
  } catch (error) {
    if (!isStatusError(error)) throw error
  }
}

const attempts = 60

async function servedType(client: Client, manifest: KubeObject): Promise<ResourceType> {
  const type = await client.discovery.typeOf(manifest)
  if (!type) throw new StatusError('Invalid', `${kindName(manifest)} is not served`)
  return type
}

/** The type under which a definition will serve an object; undefined if it will not. */
function typeIn({ manifest }: PageLine, { apiVersion, kind }: KubeObject): ResourceType | undefined {
  const { group, names, scope, versions } = manifest.spec as DefinitionSpec
  const version = versions.find(({ name, served }) => served && `${group}/${name}` === apiVersion)?.name
  if (version === undefined || names.kind !== kind) return undefined
  return { group, version, kind, plural: names.plural, namespaced: scope === 'Namespaced' }
}

interface DefinitionSpec {
  readonly group: string
  readonly scope: string
  readonly names: { readonly kind: string; readonly plural: string }
  readonly versions: readonly { readonly name: string; readonly served: boolean }[]
}

function kindName({ apiVersion, kind }: KubeObject): string {
  return `${apiVersion} ${kind}`
}
