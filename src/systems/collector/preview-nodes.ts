import type { ObjectRef, OwnerReference, StoredObject } from '../../kube/object.ts'
import { refOfNode } from './graph.ts'

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

/** What would happen to one object. */
export interface PreviewNode {
  readonly uid: string
  readonly ref: ObjectRef
  readonly action: Action
  /** Why, in a word. */
  readonly because: Reason
  /** The uid through which it was reached; absent for the root. */
  readonly through?: string
  /** All its owners, where it has several: one of them may keep it. */
  readonly owners?: readonly Pick<OwnerReference, 'uid' | 'kind' | 'name'>[]
  readonly depth: number
  /** Finalizers of others and Bonds that would keep it waiting. */
  readonly waitsFor: readonly string[]
}

/** A line of a preview as it is written. */
export interface Line {
  readonly object: StoredObject
  readonly action: Action
  readonly because: Reason
  /** The line through which it was reached; -1 for the root. */
  readonly through: number
  readonly depth: number
}

/** The lines of a preview, in the order in which they were reached. A million of them take no time until somebody reads them. */
export class PreviewNodes implements Iterable<PreviewNode> {
  readonly #objects: StoredObject[] = []
  #actions = new Uint8Array(64)
  #reasons = new Uint8Array(64)
  #through = new Int32Array(64)
  #depths = new Int32Array(64)
  /** Bonds that hold a line's object. */
  readonly #bonds = new Map<number, readonly string[]>()

  get length(): number {
    return this.#objects.length
  }

  /** Adds a line; returns its number. */
  add({ object, action, because, through, depth }: Line): number {
    const line = this.#objects.push(object) - 1
    if (line >= this.#actions.length) this.#grow()
    this.#through[line] = through
    this.#depths[line] = depth
    this.judge(line, action, because)
    return line
  }

  /** Changes the fate of a line. */
  judge(line: number, action: Action, because: Reason, bonds?: readonly string[]): void {
    this.#actions[line] = actions.indexOf(action)
    this.#reasons[line] = reasons.indexOf(because)
    if (bonds) this.#bonds.set(line, bonds)
  }

  /** A dependent that was reached before is now reached through another line. */
  reach(line: number, through: number, depth: number): void {
    this.#through[line] = through
    this.#depths[line] = depth
  }

  at(line: number): PreviewNode {
    const object = this.#objects[line]
    if (!object) throw new RangeError(`a preview of ${this.length} lines has no line ${line}`)
    const through = this.#objects[this.#through[line] ?? -1]
    const owners = object.metadata.ownerReferences ?? []
    return {
      uid: object.metadata.uid,
      ref: refOfNode(object),
      action: actions[this.#actions[line] ?? 0] ?? 'keep',
      because: reasons[this.#reasons[line] ?? 0] ?? 'root',
      ...(through ? { through: through.metadata.uid } : {}),
      ...(owners.length > 1 ? { owners: owners.map(({ uid, kind, name }) => ({ uid, kind, name })) } : {}),
      depth: this.#depths[line] ?? 0,
      waitsFor: [...foreignFinalizers(object), ...(this.#bonds.get(line) ?? [])],
    }
  }

  *[Symbol.iterator](): Generator<PreviewNode, void, undefined> {
    for (let line = 0; line < this.length; line++) yield this.at(line)
  }

  /** How many would leave. */
  get leaving(): number {
    let sum = 0
    for (let line = 0; line < this.length; line++) if (this.#actions[line] === 0) sum++
    return sum
  }

  toJSON(): readonly PreviewNode[] {
    return [...this]
  }

  #grow(): void {
    const size = this.#actions.length * 2
    this.#actions = copyTo(new Uint8Array(size), this.#actions)
    this.#reasons = copyTo(new Uint8Array(size), this.#reasons)
    this.#through = copyTo(new Int32Array(size), this.#through)
    this.#depths = copyTo(new Int32Array(size), this.#depths)
  }
}

function copyTo<T extends Uint8Array | Int32Array>(larger: T, array: T): T {
  larger.set(array)
  return larger
}

const none: readonly string[] = []
const own = new Set(['foregroundDeletion', 'orphan', 'cascade_deletion', 'sojourn.dev/cascade-deletion'])

/** Finalizers that are not the collector's own. */
export function foreignFinalizers({ metadata }: StoredObject): readonly string[] {
  return metadata.finalizers ? metadata.finalizers.filter((finalizer) => !own.has(finalizer)) : none
}
