import { bondFinalizer, holdFinalizer, seedFinalizer } from '../../../apis/bond.ts'
import { refOf, type ObjectRef, type OwnerReference, type StoredObject } from '../../../kube/object.ts'

const actions = ['delete', 'orphan', 'drop-reference', 'keep', 'refuse', 'hold'] as const
const reasons = [
  'root',
  'owners-gone',
  'owner-remains',
  'owner-unknown',
  'protected',
  'denied',
  'orphaned',
  'requirement-gone',
  'container-gone',
  'held',
] as const

export type Action = (typeof actions)[number]
export type Reason = (typeof reasons)[number]

const codes = Object.fromEntries(actions.map((action, code) => [action, code])) as Readonly<Record<Action, number>>
const reasonCodes = Object.fromEntries(reasons.map((reason, code) => [reason, code])) as Readonly<
  Record<Reason, number>
>

/** What would happen to one object. */
export interface PreviewNode {
  readonly uid: string
  readonly ref: ObjectRef
  readonly action: Action
  /** Why. */
  readonly because: Reason
  /** The uid through which it was reached; absent for the root. */
  readonly through?: string
  /** All its owners, where it has several: one of them may keep it. */
  readonly owners?: readonly Pick<OwnerReference, 'uid' | 'kind' | 'name'>[]
  readonly depth: number
  /** Finalizers of others, Bonds and dependents that its deletion would wait for. */
  readonly waitsFor: readonly string[]
}

/** A line to add to a preview. */
export interface Line {
  readonly node: number
  readonly action: Action
  readonly because: Reason
  /** The line through which it was reached; -1 for the root. */
  readonly through: number
  readonly depth: number
}

/** The lines of a preview, in the order in which they were reached. Kept in typed arrays; `PreviewNode`s are built only when read. */
export class PreviewNodes implements Iterable<PreviewNode> {
  /** The object of each node when the preview was made. */
  readonly #objects: readonly (StoredObject | undefined)[]
  /** By line. */
  readonly #nodes: Int32Array
  readonly #actions: Uint8Array
  readonly #reasons: Uint8Array
  readonly #through: Int32Array
  readonly #depths: Int32Array
  /** Bonds and objects that block the deletion of a line's object. */
  readonly #obstacles = new Map<number, readonly string[]>()
  #length = 0

  constructor(objects: readonly (StoredObject | undefined)[]) {
    this.#objects = objects
    this.#nodes = new Int32Array(objects.length)
    this.#actions = new Uint8Array(objects.length)
    this.#reasons = new Uint8Array(objects.length)
    this.#through = new Int32Array(objects.length)
    this.#depths = new Int32Array(objects.length)
  }

  get length(): number {
    return this.#length
  }

  /** Adds a line; returns its number. A node has one line at most. */
  add({ node, action, because, through, depth }: Line): number {
    const line = this.#length++
    this.#nodes[line] = node
    this.#through[line] = through
    this.#depths[line] = depth
    this.#actions[line] = codes[action]
    this.#reasons[line] = reasonCodes[because]
    return line
  }

  /** Changes action and reason of a line. */
  judge(line: number, action: Action, because: Reason, obstacles?: readonly string[]): void {
    this.#actions[line] = codes[action]
    this.#reasons[line] = reasonCodes[because]
    if (obstacles) this.#obstacles.set(line, obstacles)
  }

  /** Sets the line through which a line is reached. */
  reach(line: number, through: number, depth: number): void {
    this.#through[line] = through
    this.#depths[line] = depth
  }

  /** The line through which a line was reached; -1 for the root. */
  throughOf(line: number): number {
    return this.#through[line] ?? -1
  }

  depthOf(line: number): number {
    return this.#depths[line] ?? 0
  }

  uidOf(line: number): string {
    return this.#objectAt(line).metadata.uid
  }

  /** The uids of its owners. */
  ownersOf(line: number): readonly string[] {
    return this.#objectAt(line).metadata.ownerReferences?.map(({ uid }) => uid) ?? none
  }

  /** Whether it is deleted as part of a deleted Namespace or CustomResourceDefinition. */
  isInside(line: number): boolean {
    return this.#reasons[line] === reasonCodes['container-gone']
  }

  at(line: number): PreviewNode {
    const object = this.#objectAt(line)
    const above = this.throughOf(line)
    const through = above < 0 ? undefined : this.#objects[this.#nodes[above] ?? -1]
    const owners = object.metadata.ownerReferences ?? []
    return {
      uid: object.metadata.uid,
      ref: refOf(object),
      action: actions[this.#actions[line] ?? 0] ?? 'keep',
      because: reasons[this.#reasons[line] ?? 0] ?? 'root',
      ...(through ? { through: through.metadata.uid } : {}),
      ...(owners.length > 1 ? { owners: owners.map(({ uid, kind, name }) => ({ uid, kind, name })) } : {}),
      depth: this.depthOf(line),
      waitsFor: [...foreignFinalizers(object), ...(this.#obstacles.get(line) ?? [])],
    }
  }

  *[Symbol.iterator](): Generator<PreviewNode, void, undefined> {
    for (let line = 0; line < this.length; line++) yield this.at(line)
  }

  /** How many objects would be deleted. */
  get leaving(): number {
    let sum = 0
    for (let line = 0; line < this.length; line++) if (this.#actions[line] === 0) sum++
    return sum
  }

  #objectAt(line: number): StoredObject {
    const object = line < this.length ? this.#objects[this.#nodes[line] ?? -1] : undefined
    if (!object) throw new RangeError(`a preview of ${this.length} lines has no line ${line}`)
    return object
  }

  toJSON(): readonly PreviewNode[] {
    return [...this]
  }
}

const none: readonly string[] = []
const own = new Set(['foregroundDeletion', 'orphan', seedFinalizer, holdFinalizer, bondFinalizer])

/** Finalizers that are not the collector's own. */
export function foreignFinalizers({ metadata }: StoredObject): readonly string[] {
  return metadata.finalizers ? metadata.finalizers.filter((finalizer) => !own.has(finalizer)) : none
}
