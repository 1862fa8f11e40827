import { childNode, resolveNode, type SchemaNode } from '../types/schema-node.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { compareElements, type PathElement } from './path-element.ts'

/** The JSON form of a field set in managedFields. */
export type FieldsV1 = { readonly [element: PathElement]: FieldsV1 }

/** A set of paths into an object, as a trie. Immutable once another module has it. */
export class FieldSet {
  /** Elements that end a path of the set. */
  readonly members: Set<PathElement>
  /** Longer paths by their first element; never an empty set. */
  readonly children: Map<PathElement, FieldSet>

  constructor(members = new Set<PathElement>(), children = new Map<PathElement, FieldSet>()) {
    this.members = members
    this.children = children
  }

  /** Parses FieldsV1; throws TypeError for anything else. */
  static from(fields: unknown): FieldSet {
    if (!isRecord(fields)) throw new TypeError('fields must be objects')
    const set = new FieldSet()
    for (const element of Object.keys(fields)) {
      const below = fields[element]
      if (element === '.') continue
      if (element[1] !== ':' || !'fkvi'.includes(element[0] ?? '')) throw new TypeError(`no path element: ${element}`)
      const child = FieldSet.from(below)
      if (child.isEmpty || Object.hasOwn(below as object, '.')) set.members.add(element)
      if (!child.isEmpty) set.children.set(element, child)
    }
    return set
  }

  static of(...paths: readonly (readonly PathElement[])[]): FieldSet {
    const builder = new FieldSetBuilder()
    for (const path of paths) builder.insert(path)
    return builder.set
  }

  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0
  }

  toFieldsV1(): FieldsV1 {
    const fields: Record<string, FieldsV1> = {}
    for (const member of this.members) if (!this.children.has(member)) fields[member] = {}
    for (const [element, child] of this.children) {
      const below = child.toFieldsV1()
      fields[element] = this.members.has(element) ? { '.': {}, ...below } : below
    }
    return fields
  }

  has(path: readonly PathElement[]): boolean {
    const [first = '', ...rest] = path
    return rest.length === 0 ? this.members.has(first) : this.children.get(first)?.has(rest) === true
  }

  union(other: FieldSet): FieldSet {
    if (other.isEmpty) return this
    if (this.isEmpty) return other
    const children = new Map(this.children)
    for (const [element, theirs] of other.children) {
      const mine = children.get(element)
      children.set(element, mine ? mine.union(theirs) : theirs)
    }
    return new FieldSet(new Set([...this.members, ...other.members]), children)
  }

  intersection(other: FieldSet): FieldSet {
    const children = new Map<PathElement, FieldSet>()
    for (const [element, mine] of this.children) {
      const theirs = other.children.get(element)
      const both = theirs && mine.intersection(theirs)
      if (both && !both.isEmpty) children.set(element, both)
    }
    return new FieldSet(
      only(this.members, (element) => other.members.has(element)),
      children,
    )
  }

  /** The paths of this set that are not in the other. Paths below a member of the other are kept. */
  difference(other: FieldSet): FieldSet {
    return this.#minus(other, false)
  }

  /** As `difference`, but also removes all paths below a member of the other. */
  without(other: FieldSet): FieldSet {
    return this.#minus(other, true)
  }

  #minus(other: FieldSet, isDeep: boolean): FieldSet {
    if (other.isEmpty || this.isEmpty) return this
    const children = new Map<PathElement, FieldSet>()
    for (const [element, mine] of this.children) {
      if (isDeep && other.members.has(element)) continue
      const theirs = other.children.get(element)
      const rest = theirs ? mine.#minus(theirs, isDeep) : mine
      if (!rest.isEmpty) children.set(element, rest)
    }
    return new FieldSet(
      only(this.members, (element) => !other.members.has(element)),
      children,
    )
  }

  /**
   * Adds named fields on the way to other paths as members, so that a struct can be removed together with its fields.
   */
  withNamedFields(node: SchemaNode): FieldSet {
    const map = node.is === 'any' ? undefined : node
    const members = new Set(this.members)
    const children = new Map<PathElement, FieldSet>()
    for (const [element, child] of this.children) {
      if (map?.is === 'map' && element.startsWith('f:') && map.field(element.slice(2))) members.add(element)
      children.set(element, child.withNamedFields(below(node, element)))
    }
    return new FieldSet(members, children)
  }

  /** All paths, in the order in which the API lists them. */
  *paths(prefix: readonly PathElement[] = []): Generator<readonly PathElement[]> {
    for (const member of [...this.members].toSorted(compareElements)) yield [...prefix, member]
    for (const element of [...this.children.keys()].toSorted(compareElements)) {
      yield* this.children.get(element)?.paths([...prefix, element]) ?? []
    }
  }
}

/** Builds a set before it is handed out. */
export class FieldSetBuilder {
  readonly set = new FieldSet()

  insert(path: readonly PathElement[]): void {
    const last = path.at(-1)
    if (last === undefined) return
    let at = this.set
    for (let index = 0; index < path.length - 1; index++) {
      const element = path[index] as string
      let next = at.children.get(element)
      if (!next) at.children.set(element, (next = new FieldSet()))
      at = next
    }
    at.members.add(last)
  }
}

function only(elements: ReadonlySet<PathElement>, keep: (element: PathElement) => boolean): Set<PathElement> {
  const kept = new Set<PathElement>()
  for (const element of elements) if (keep(element)) kept.add(element)
  return kept
}

/** The schema below a path element. */
export function below(node: SchemaNode, element: PathElement): SchemaNode {
  if (element.startsWith('f:')) {
    const map = resolveNode(node, {})
    return map.is === 'map' ? childNode(map, element.slice(2)) : node
  }
  const list = resolveNode(node, [])
  return list.is === 'list' ? list.element : node
}
