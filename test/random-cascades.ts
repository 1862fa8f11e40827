import { configMaps } from '../src/kube/core-types.ts'
import fc from 'fast-check'
import { bond } from '../src/apis/bond.ts'
import { cleanupOptOut } from '../src/apis/cleanup-opt-out.ts'
import type { OwnerReference, StoredObject } from '../src/kube/object.ts'
import { ignoring } from '../src/kube/status-error.ts'
import { ownedBy, type Cascades } from './cascades.ts'

/** One object of a random graph; it belongs to and needs others of the same graph, by their places in it. */
interface Shape {
  readonly owners: readonly { readonly at: number; readonly blocks: boolean }[]
  readonly needs: readonly Need[]
  /** Whether a finalizer of another controller is on it. */
  readonly isHeld: boolean
  readonly spared: 'no' | 'keep-mark' | 'opt-out'
}

interface Need {
  readonly at: number
  readonly onDelete: 'Cascade' | 'Orphan' | 'Hold' | 'Deny'
  /** Which of its ends owns the Bond itself, if one does: it then leaves with that. */
  readonly owner: 'none' | 'dependent' | 'dependency'
  readonly blocks: boolean
}

/** A graph, and what is deleted in it. */
export interface Plan {
  readonly shapes: readonly Shape[]
  readonly root: number
  readonly policy: 'Background' | 'Foreground' | 'Orphan'
}

const places = 6
const oneIn = (count: number) => fc.integer({ min: 1, max: count }).map((number) => number === count)
const shape = fc.record<Shape>({
  owners: fc.uniqueArray(fc.record({ at: fc.nat(places), blocks: fc.boolean() }), {
    maxLength: 2,
    selector: ({ at }) => at,
  }),
  needs: fc.uniqueArray(
    fc.record<Need>({
      at: fc.nat(places),
      onDelete: fc.constantFrom('Cascade' as const, 'Cascade', 'Orphan', 'Hold', 'Deny'),
      owner: fc.constantFrom('none' as const, 'none', 'none', 'dependent', 'dependency'),
      blocks: fc.boolean(),
    }),
    { maxLength: 2, selector: ({ at }) => at },
  ),
  isHeld: oneIn(8),
  spared: fc.constantFrom('no' as const, 'no', 'no', 'no', 'no', 'no', 'no', 'keep-mark', 'opt-out'),
})

export const plan = fc.record<Plan>({
  shapes: fc.array(shape, { minLength: 3, maxLength: places + 1 }),
  root: fc.nat(2),
  policy: fc.constantFrom('Background' as const, 'Foreground', 'Orphan'),
})

/** More leaves in these than any door would let through unasked. */
export const wideDoor = { limits: { maxPerMinute: 1e6, maxPerHourOfKind: 1e6, freeOfPercent: 1e6 } }

/** What a preview said of a graph, where that is not what happened. */
export interface Surprise {
  readonly plan: string
  readonly said: readonly string[]
  readonly gone: readonly string[]
}

/** Makes graphs side by side, asks for previews, deletes the roots and compares. Time passes for all of them at once. */
export class RandomCascades {
  readonly #here: Cascades
  #graphs = 0

  constructor(here: Cascades) {
    this.#here = here
  }

  async surprises(plans: readonly Plan[]): Promise<readonly Surprise[]> {
    const here = this.#here
    const graphs = plans.map((given) => ({ given, prefix: `g${this.#graphs++}` }))
    const roots: StoredObject[] = []
    for (const { prefix, given } of graphs) roots.push(await this.#grow(prefix, given))
    await here.world.pass(20_000)
    const before = await this.#everything()
    const said = graphs.map(({ given }, index) => this.#previewed(roots[index] as StoredObject, given.policy))
    if ((await this.#everything()).join() !== before.join()) throw new Error('a preview changed something')
    for (const [index, { given }] of graphs.entries()) {
      const { name } = (roots[index] as StoredObject).metadata
      // No user may delete what a Bond denies.
      await here.world.client
        .deleteObject(configMaps, { namespace: 'team', name }, { propagationPolicy: given.policy })
        .catch(ignoring('Conflict'))
    }
    await this.#settle()
    const after = new Set(await this.#everything())
    return graphs.flatMap(({ prefix, given }, index) => {
      const gone = before.filter((name) => name.includes(`/${prefix}-`) && !after.has(name))
      const expected = said[index] ?? []
      return gone.join() === expected.join() ? [] : [{ plan: JSON.stringify(given), said: expected, gone }]
    })
  }

  /** Makes a graph; returns the object that will be deleted. */
  async #grow(prefix: string, { shapes, root }: Plan): Promise<StoredObject> {
    const here = this.#here
    const name = (at: number) => `${prefix}-${at}`
    const made: StoredObject[] = []
    for (const [at, { isHeld, spared }] of shapes.entries()) {
      made.push(
        await here.create(name(at), [], {
          ...(isHeld ? { finalizers: ['x.dev/held'] } : {}),
          ...(spared === 'keep-mark' ? { annotations: { 'sojourn.dev/keep': 'true' } } : {}),
        }),
      )
      if (spared === 'opt-out') await this.#optOut(name(at))
    }
    // Owners come last: only so there can be circles.
    for (const [at, { owners }] of shapes.entries()) {
      const ownerReferences = owners
        .filter((owner) => owner.at < shapes.length)
        .map((owner) => ownedBy(made[owner.at] as StoredObject, { blockOwnerDeletion: owner.blocks }))
      if (ownerReferences.length > 0) await this.#change(name(at), { ownerReferences })
    }
    for (const [at, { needs }] of shapes.entries())
      for (const need of needs.filter((other) => other.at < shapes.length && other.at !== at))
        // Two that deny each other are refused.
        await here
          .bind(name(at), name(need.at), need.onDelete, { metadata: ownersOf(need, at, made) })
          .catch(ignoring('Invalid'))
    return made[root] as StoredObject
  }

  #optOut(name: string): Promise<unknown> {
    return this.#here.world.create({
      apiVersion: cleanupOptOut.apiVersion,
      kind: cleanupOptOut.kind,
      metadata: { name },
      spec: { resource: { kind: 'ConfigMap', namespace: 'team', name }, reason: 'random' },
    })
  }

  #previewed(root: StoredObject, policy: Plan['policy']): readonly string[] {
    const nodes = [...(this.#here.collector.preview(root.metadata.uid, policy)?.nodes ?? [])]
    return nodes
      .filter(({ action }) => action === 'delete')
      .map(({ ref }) => `${ref.kind}/${ref.name}`)
      .toSorted()
  }

  async #everything(): Promise<readonly string[]> {
    const { client } = this.#here.world
    const { items: bonds } = await client.list<StoredObject>(bond.type, { namespace: 'team' })
    const names = await this.#here.left()
    return [
      ...bonds.map(({ metadata }) => `Bond/${metadata.name}`),
      ...names.map((each) => `ConfigMap/${each}`),
    ].toSorted()
  }

  /** Lets everything come to its end, finalizers of others included. */
  async #settle(): Promise<void> {
    const { world } = this.#here
    for (let isMoving = true; isMoving;) {
      await world.pass(120_000)
      const { items } = await world.client.list(configMaps, { namespace: 'team' })
      const waiting = items.filter(
        ({ metadata }) => metadata.deletionTimestamp && metadata.finalizers?.includes('x.dev/held'),
      )
      for (const { metadata } of waiting) {
        const { name, resourceVersion, finalizers = [] } = metadata
        const change = { resourceVersion, finalizers: finalizers.filter((other) => other !== 'x.dev/held') }
        // What has changed since waits for the next round.
        await this.#change(name, change).catch(ignoring('Conflict'))
      }
      isMoving = waiting.length > 0
    }
  }

  #change(name: string, metadata: object): Promise<StoredObject> {
    const { client } = this.#here.world
    return client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body: { metadata } })
  }
}

function ownersOf(
  { owner, at, blocks }: Need,
  dependent: number,
  made: readonly StoredObject[],
): { readonly ownerReferences?: readonly OwnerReference[] } {
  if (owner === 'none') return {}
  const found = made[owner === 'dependent' ? dependent : at] as StoredObject
  return { ownerReferences: [ownedBy(found, { blockOwnerDeletion: blocks })] }
}
