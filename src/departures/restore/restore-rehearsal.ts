import { namespaces } from '../../kube/core-types.ts'
import type { Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../kube/object.ts'
import { ignoring, isStatusError, type StatusError } from '../../kube/status-error.ts'
import { isDefinition, type RestoredKinds } from './restored-kinds.ts'
import type { PageLine } from '../records/pages.ts'
import { isRestoredFrom } from './manifest-for-create.ts'
import { withOwners } from './adopt.ts'

/** Which objects of a restore exist already, and why others cannot be created; both by the uids in the record. */
export interface Rehearsal {
  readonly there: ReadonlyMap<string, StoredObject>
  readonly problems: ReadonlyMap<string, string>
}

export interface RehearsalOptions {
  readonly record: Departure
  readonly kinds: RestoredKinds
  /** Objects that were restored before. */
  readonly back: readonly StoredObject[]
  /** Runs the work for each line, in waves. */
  readonly inWaves: (work: (line: PageLine) => Promise<void>) => Promise<void>
}

/**
 * Creates every object as a dry run. An object whose Namespace is itself restored is tried in another namespace. An object whose kind is not served yet cannot
 * be tried: only its namespace is checked.
 */
export async function rehearse(client: Client, options: RehearsalOptions): Promise<Rehearsal> {
  const { record, kinds, inWaves } = options
  const there = new Map<string, StoredObject>()
  const problems = new Map<string, string>()
  const coming = new Set<string | undefined>()
  const homes = new Homes(client)
  await inWaves(async (line) => {
    const { uid, manifest } = line
    const type = kinds.typeOf(manifest)
    const { namespace } = manifest.metadata
    const isHomeless = coming.has(namespace)
    if (kinds.definitionOf(manifest)) {
      const problem = namespace && !isHomeless ? await homes.problemWith(namespace) : undefined
      if (problem) problems.set(uid, `${describeRef(refOf(manifest))}: ${problem}`)
      return
    }
    // No owner in the rehearsal: the new uids are not known yet.
    const candidate = withOwners(manifest, () => undefined)
    const problem = await problemOf(client, type, isHomeless ? elsewhere(record, candidate) : candidate)
    const isTaken = problem?.reason === 'AlreadyExists'
    const found = isTaken && !isHomeless ? await theSame(client, line, { ...options, there }) : undefined
    if (found) there.set(uid, found)
    else if (isNamespace(manifest)) coming.add(manifest.metadata.name)
    if (!problem || found || (isTaken && isHomeless)) return
    problems.set(uid, isTaken ? await taken(client, type, manifest) : problem.message)
  })
  return { there, problems }
}

/** Whether a controller has created an object for a restored owner. */
export function isRecreatedFor({ metadata }: StoredObject, back: ReadonlySet<string>): boolean {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller)
  return controller !== undefined && back.has(controller.uid)
}

/** Checks the namespaces of objects that cannot be tried, each once. */
class Homes {
  readonly #client: Client
  readonly #problems = new Map<string, Promise<string | undefined>>()

  constructor(client: Client) {
    this.#client = client
  }

  problemWith(name: string): Promise<string | undefined> {
    return this.#problems.getOrInsertComputed(name, () => this.#look(name))
  }

  async #look(name: string): Promise<string | undefined> {
    try {
      const { metadata } = await this.#client.get<StoredObject>(namespaces, { name }, { metadataOnly: true })
      return metadata.deletionTimestamp ? `namespace ${name} is still being deleted` : undefined
    } catch (error) {
      if (!isStatusError(error, 'NotFound', 'Forbidden')) throw error
      // A user who may not read a namespace may still be allowed to create objects in it.
      return error.reason === 'NotFound' ? error.message : undefined
    }
  }
}

/** Says which object has the name. */
async function taken(client: Client, type: ResourceType, manifest: KubeObject): Promise<string> {
  const { name = '', namespace } = manifest.metadata
  const place = placeOf({ name, namespace })
  const ref = describeRef(refOf(manifest))
  const found = await client.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
  if (!found) return `${ref} exists`
  const { uid, deletionTimestamp, finalizers = [] } = found.metadata
  if (!deletionTimestamp) return `${ref} exists (uid ${uid})`
  return `${ref} is still being deleted (uid ${uid}${finalizers.length > 0 ? `, held by ${finalizers.join(', ')}` : ''})`
}

/** The error with which the server refuses an object; undefined if it accepts it. */
async function problemOf(client: Client, type: ResourceType, object: KubeObject): Promise<StatusError | undefined> {
  try {
    await client.create(type, object, { dryRun: true })
    return undefined
  } catch (error) {
    if (isStatusError(error)) return error
    throw error
  }
}

/**
 * The existing object with a line's name, if it counts as restored: an interrupted restore created it, it was recorded and never deleted, or a controller
 * created it for a restored owner. A definition that was installed again also counts.
 */
async function theSame(
  client: Client,
  line: PageLine,
  { record: { spec }, kinds, back, there }: Omit<RehearsalOptions, 'inWaves'> & Pick<Rehearsal, 'there'>,
): Promise<StoredObject | undefined> {
  const { name = '', namespace } = line.manifest.metadata
  const place = placeOf({ name, namespace })
  const found = await client.get<StoredObject>(kinds.typeOf(line.manifest), place).catch(ignoring('NotFound'))
  if (!found || found.metadata.deletionTimestamp) return undefined
  const { uid } = found.metadata
  const neverLeft = uid === line.uid && uid !== spec.object.uid
  const isInstalled = isDefinition(line.manifest) && Boolean(spec.takes) && !kinds.isAwaited(line)
  if (isRestoredFrom(found, line.uid) || neverLeft || isInstalled) return found
  const owners = new Set([...back, ...there.values()].map(({ metadata }) => metadata.uid))
  return isRecreatedFor(found, owners) ? found : undefined
}

function isNamespace({ apiVersion, kind }: KubeObject): boolean {
  return apiVersion === 'v1' && kind === 'Namespace'
}

/** Moves an object whose namespace does not exist yet to ours, or to `default` in another cluster, where ours may not exist. */
function elsewhere({ spec }: Departure, manifest: KubeObject): KubeObject {
  const namespace = spec.object.cluster ? 'default' : sojournNamespace
  return { ...manifest, metadata: { ...manifest.metadata, namespace } }
}
