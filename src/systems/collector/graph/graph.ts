import { carriesProtection } from '../../../departures/door/protection.ts'
import { type StoredObject, type ResourceType, groupResource, parseApiVersion } from '../../../kube/object.ts'
import { hashOf, KeyShard } from '../../../kube/basics/key-shard.ts'

/** One reference to an owner, as an edge. */
export interface OwnerEdge {
  readonly owner: number
  readonly blocking: boolean
}

/** The owner references of one cluster as a graph: nodes by uid, edges in both directions, in typed arrays. */
export class Graph {
  /** Each node holds one reference to its uid. */
  readonly #uids = new KeyShard()
  /** The object of each node; undefined for a virtual node, which only owner references name: its object is deleted or not seen yet. */
  #objects: (StoredObject | undefined)[] = []
  /** For each node: whether its object exists, is namespaced, and has a mark that protects it. A walk over a million nodes must not load each object. */
  #flags = new Uint8Array(1024)
  /** First edge in which a node is the dependent, and the owner; -1 for none. */
  #firstOwner = new Int32Array(1024).fill(none)
  #firstDependent = new Int32Array(1024).fill(none)
  /** Edges: ends, flag, and links of both lists. Free edges have `#edgeOwner` -1 and are linked by `#nextOfDependent`. */
  #edgeOwner = new Int32Array(1024).fill(none)
  #edgeDependent = new Int32Array(1024)
  #edgeBlocking = new Uint8Array(1024)
  #nextOfOwner = new Int32Array(1024)
  #previousOfOwner = new Int32Array(1024)
  #nextOfDependent = new Int32Array(1024)
  #edges = 0
  #freeEdge = none

  /** The number of objects. Virtual nodes do not count. */
  size = 0

  /** Adds an object, or updates the one with its uid: edges change only where its references did. Returns its node. */
  put(object: StoredObject): number {
    const node = this.#nodeOf(object.metadata.uid)
    const before = this.#objects[node]
    if (!before) this.size++
    this.#objects[node] = object
    this.#flags[node] = flagsOf(object)
    const references = object.metadata.ownerReferences ?? []
    if (before?.metadata.ownerReferences === object.metadata.ownerReferences) return node
    if (before && sameReferences(before, object)) return node
    this.#unlinkOwners(node)
    for (const { uid, blockOwnerDeletion } of references)
      this.#link(this.#nodeOf(uid), node, blockOwnerDeletion ?? false)
    return node
  }

  /** Removes an object and its edges to its owners. Its node stays, virtual, while dependents name it. Returns its owners. */
  remove(uid: string): readonly number[] {
    const node = this.find(uid)
    if (node === undefined || !this.#objects[node]) return []
    const owners = this.owners(node).map(({ owner }) => owner)
    this.#objects[node] = undefined
    this.#flags[node] = 0
    this.size--
    this.#unlinkOwners(node)
    this.#dropIfUnused(node)
    return owners
  }

  find(uid: string): number | undefined {
    const node = this.#uids.find(uid, hashOf(uid))
    return node < 0 ? undefined : node
  }

  object(node: number): StoredObject | undefined {
    return this.#objects[node]
  }

  /** Whether a node has an object. */
  has(node: number): boolean {
    return this.#flags[node] !== 0
  }

  /** Whether a node has a namespaced object. */
  isInNamespace(node: number): boolean {
    return ((this.#flags[node] ?? 0) & namespaced) !== 0
  }

  /** Whether the object of a node has a mark that protects it. */
  isMarked(node: number): boolean {
    return ((this.#flags[node] ?? 0) & marked) !== 0
  }

  /** A copy of the current object of each node. */
  snapshot(): readonly (StoredObject | undefined)[] {
    return this.#objects.slice()
  }

  uidOf(node: number): string {
    return this.#uids.textOf(node)
  }

  /** The owners of a node. */
  owners(node: number): readonly OwnerEdge[] {
    const found: OwnerEdge[] = []
    for (let edge = this.#firstOwner[node] ?? none; edge !== none; edge = this.#nextOfDependent[edge] ?? none) {
      found.push({ owner: this.#edgeOwner[edge] ?? none, blocking: this.#edgeBlocking[edge] === 1 })
    }
    return found
  }

  /** The first edge to an owner of a node; -1 for none. */
  firstOwnerEdge(node: number): number {
    return this.#firstOwner[node] ?? none
  }

  nextOwnerEdge(edge: number): number {
    return this.#nextOfDependent[edge] ?? none
  }

  ownerOf(edge: number): number {
    return this.#edgeOwner[edge] ?? none
  }

  /** The first edge to a dependent of a node; -1 for none. With `nextEdge` and `dependentOf` it walks many dependents without an array. */
  firstEdge(node: number): number {
    return this.#firstDependent[node] ?? none
  }

  nextEdge(edge: number): number {
    return this.#nextOfOwner[edge] ?? none
  }

  dependentOf(edge: number): number {
    return this.#edgeDependent[edge] ?? none
  }

  /** Calls `visit` with each dependent of a node, until it returns false. */
  eachDependent(node: number, visit: (dependent: number, blocking: boolean) => boolean | void): void {
    for (let edge = this.#firstDependent[node] ?? none; edge !== none;) {
      const next = this.#nextOfOwner[edge] ?? none
      if (visit(this.#edgeDependent[edge] ?? none, this.#edgeBlocking[edge] === 1) === false) return
      edge = next
    }
  }

  dependents(node: number): readonly number[] {
    const found: number[] = []
    this.eachDependent(node, (dependent) => void found.push(dependent))
    return found
  }

  hasDependents(node: number): boolean {
    return (this.#firstDependent[node] ?? none) !== none
  }

  hasOwners(node: number): boolean {
    return (this.#firstOwner[node] ?? none) !== none
  }

  /** One more than the highest node: the length of arrays indexed by node. */
  get capacity(): number {
    return this.#objects.length
  }

  /** The size of the arrays, without the objects. */
  get bytes(): number {
    const arrays = [
      this.#flags,
      this.#firstOwner,
      this.#firstDependent,
      this.#edgeOwner,
      this.#edgeDependent,
      this.#edgeBlocking,
      this.#nextOfOwner,
      this.#previousOfOwner,
      this.#nextOfDependent,
    ]
    return (
      arrays.reduce((sum, { byteLength }) => sum + byteLength, 0) + this.#uids.byteLength + this.#objects.length * 8
    )
  }

  #nodeOf(uid: string): number {
    const node = this.find(uid) ?? this.#uids.intern(uid, hashOf(uid))
    if (node >= this.#firstOwner.length) {
      this.#firstOwner = grown(this.#firstOwner, none)
      this.#firstDependent = grown(this.#firstDependent, none)
      this.#flags = grownBytes(this.#flags)
    }
    while (this.#objects.length <= node) this.#objects.push(undefined)
    return node
  }

  #link(owner: number, dependent: number, blocking: boolean): void {
    const edge = this.#takeEdge()
    this.#edgeOwner[edge] = owner
    this.#edgeDependent[edge] = dependent
    this.#edgeBlocking[edge] = blocking ? 1 : 0
    const head = this.#firstDependent[owner] ?? none
    this.#nextOfOwner[edge] = head
    this.#previousOfOwner[edge] = none
    if (head !== none) this.#previousOfOwner[head] = edge
    this.#firstDependent[owner] = edge
    this.#nextOfDependent[edge] = this.#firstOwner[dependent] ?? none
    this.#firstOwner[dependent] = edge
  }

  #unlinkOwners(node: number): void {
    for (let edge = this.#firstOwner[node] ?? none; edge !== none;) {
      const next = this.#nextOfDependent[edge] ?? none
      const owner = this.#edgeOwner[edge] ?? none
      const before = this.#previousOfOwner[edge] ?? none
      const after = this.#nextOfOwner[edge] ?? none
      if (before === none) this.#firstDependent[owner] = after
      else this.#nextOfOwner[before] = after
      if (after !== none) this.#previousOfOwner[after] = before
      this.#edgeOwner[edge] = none
      this.#nextOfDependent[edge] = this.#freeEdge
      this.#freeEdge = edge
      this.#dropIfUnused(owner)
      edge = next
    }
    this.#firstOwner[node] = none
  }

  #takeEdge(): number {
    if (this.#freeEdge !== none) {
      const edge = this.#freeEdge
      this.#freeEdge = this.#nextOfDependent[edge] ?? none
      return edge
    }
    if (this.#edges >= this.#edgeOwner.length) {
      this.#edgeOwner = grown(this.#edgeOwner, none)
      this.#edgeDependent = grown(this.#edgeDependent, 0)
      this.#edgeBlocking = grownBytes(this.#edgeBlocking)
      this.#nextOfOwner = grown(this.#nextOfOwner, none)
      this.#previousOfOwner = grown(this.#previousOfOwner, none)
      this.#nextOfDependent = grown(this.#nextOfDependent, none)
    }
    return this.#edges++
  }

  /** Frees a node that has neither an object nor edges. */
  #dropIfUnused(node: number): void {
    if (
      this.#objects[node] ||
      (this.#firstDependent[node] ?? none) !== none ||
      (this.#firstOwner[node] ?? none) !== none
    )
      return
    this.#uids.release(node)
  }
}

const none = -1
const present = 1
const namespaced = 2
const marked = 4

function flagsOf(object: StoredObject): number {
  return present | (object.metadata.namespace ? namespaced : 0) | (carriesProtection(object) ? marked : 0)
}

function grown(array: Int32Array<ArrayBuffer>, filler: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.ceil(array.length * 1.5)).fill(filler, array.length)
  larger.set(array)
  return larger
}

function grownBytes(array: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.ceil(array.length * 1.5))
  larger.set(array)
  return larger
}

function sameReferences(left: StoredObject, right: StoredObject): boolean {
  const before = left.metadata.ownerReferences ?? []
  const after = right.metadata.ownerReferences ?? []
  return (
    before.length === after.length &&
    before.every(
      ({ uid, blockOwnerDeletion }, index) =>
        uid === after[index]?.uid && (blockOwnerDeletion ?? false) === (after[index]?.blockOwnerDeletion ?? false),
    )
  )
}

/** The objects that the cluster deletes with an object: the contents of a Namespace, the instances of a CustomResourceDefinition. */
export function contentsOf(graph: Graph, node: number, types: Iterable<ResourceType>): Iterable<number> {
  const object = graph.object(node)
  if (!object) return []
  const { group } = parseApiVersion(object.apiVersion)
  const { name } = object.metadata
  if (group === '' && object.kind === 'Namespace')
    return nodesWhere(graph, ({ metadata }) => metadata.namespace === name)
  if (group !== 'apiextensions.k8s.io' || object.kind !== 'CustomResourceDefinition') return []
  const defined = Iterator.from(types).find((type) => groupResource(type) === name)
  if (!defined) return []
  return nodesWhere(
    graph,
    ({ kind, apiVersion }) => kind === defined.kind && parseApiVersion(apiVersion).group === defined.group,
  )
}

function* nodesWhere(graph: Graph, test: (object: StoredObject) => boolean): Generator<number, void, undefined> {
  for (let node = 0; node < graph.capacity; node++) {
    const object = graph.object(node)
    if (object && test(object)) yield node
  }
}
