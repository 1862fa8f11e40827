import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { storeKinds } from '../../../test/apiserver/test-stores.ts'
import { openTestObjects, type RecordingSink, type TestObjects } from '../../../test/apiserver/test-objects.ts'

const names = ['a', 'b', 'c', 'd']
const path = 'v1/configmaps'

/** What can happen; each is tried whether or not it can succeed. */
const step = fc.oneof(
  fc.record({ do: fc.constant('create' as const), name: fc.constantFrom(...names), label: fc.constantFrom('x', 'y') }),
  fc.record({ do: fc.constant('relabel' as const), name: fc.constantFrom(...names), label: fc.constantFrom('x', 'y') }),
  fc.record({ do: fc.constant('delete' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('watch' as const), label: fc.constantFrom('', 'x', 'y'), back: fc.nat(5) }),
  fc.record({ do: fc.constant('fill' as const), watch: fc.nat(9) }),
  fc.record({ do: fc.constant('drain' as const), watch: fc.nat(9) }),
  fc.record({ do: fc.constant('look' as const) }),
  fc.record({ do: fc.constant('settle' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Watching {
  readonly heard: RecordingSink
  readonly label: string
  /** What there was, by name, when it began. */
  readonly base: ReadonlyMap<string, string>
}

/** A naive world: every state there ever was, whole. */
class Model {
  readonly states = new Map<number, ReadonlyMap<string, string>>()
  current = new Map<string, string>()

  note(revision: number, name: string, label: string | undefined): void {
    // A write that changes nothing answers with the version that is there.
    if (this.states.has(revision)) return
    this.current = new Map(this.current)
    if (label === undefined) this.current.delete(name)
    else this.current.set(name, label)
    this.states.set(revision, this.current)
  }

  at(revision: number): ReadonlyMap<string, string> {
    const known = [...this.states.keys()].filter((each) => each <= revision)
    return this.states.get(Math.max(...known, 0)) ?? new Map<string, string>()
  }
}

class Run {
  readonly #world: TestObjects
  readonly #model = new Model()
  readonly #watches: Watching[] = []
  readonly #start: number

  constructor(world: TestObjects) {
    this.#world = world
    this.#start = world.store.revision
  }

  async take(one: Step): Promise<void> {
    const world = this.#world
    switch (one.do) {
      case 'create': {
        const body = { metadata: { name: one.name, labels: { l: one.label } } }
        return this.#note(one.name, one.label, await world.create(path, body).catch(ignoring('AlreadyExists')))
      }
      case 'relabel': {
        const body = { metadata: { labels: { l: one.label } } }
        return this.#note(one.name, one.label, await world.merge(path, one.name, body).catch(ignoring('NotFound')))
      }
      case 'delete': {
        const gone = await world.delete(path, one.name).catch(ignoring('NotFound'))
        if (gone) this.#model.note(world.store.revision, one.name, undefined)
        return
      }
      case 'watch':
        return this.#watch(one.label, one.back)
      case 'fill':
      case 'drain': {
        const watch = this.#watches[one.watch % Math.max(1, this.#watches.length)]
        if (watch) watch.heard.isFull = one.do === 'fill'
        if (one.do === 'drain') watch?.heard.watch.resume()
        return
      }
      case 'look':
        return this.#look()
      case 'settle':
        return world.settle()
    }
  }

  async finish(): Promise<void> {
    for (const { heard } of this.#watches) {
      heard.isFull = false
      heard.watch.resume()
    }
    await this.#world.settle()
    await this.#look()
    for (const watching of this.#watches) this.#check(watching)
  }

  #note(name: string, label: string, written: StoredObject | undefined): void {
    if (written) this.#model.note(Number(written.metadata.resourceVersion), name, label)
  }

  #watch(label: string, back: number): void {
    const revision = Math.max(this.#start, this.#world.store.revision - back)
    const selector = label ? { labelSelector: `l=${label}` } : {}
    const heard = this.#world.watch(path, { resourceVersion: String(revision), ...selector })
    this.#watches.push({ heard, label, base: this.#matching(this.#model.at(revision), label) })
  }

  /** A list at every revision there was is what the model says it was. */
  async #look(): Promise<void> {
    const { revision } = this.#world.store
    const newest = await this.#world.list(path)
    expect(newest.names).toEqual([...this.#model.current.keys()].sort())
    for (let at = Math.max(this.#start, revision - 4); at <= revision; at++) {
      const { names: listed } = await this.#world.list(path, {
        resourceVersion: String(at),
        resourceVersionMatch: 'Exact',
      })
      expect(listed).toEqual([...this.#model.at(at).keys()].sort())
    }
  }

  /** What was there at first, with all that was told, is what is there now; and each telling makes sense. */
  #check({ heard, label, base }: Watching): void {
    const state = new Map(base)
    let last = 0
    for (const { type, object } of heard.events) {
      const { name, resourceVersion, labels } = object.metadata
      expect(Number(resourceVersion)).toBeGreaterThan(last)
      last = Number(resourceVersion)
      expect([type, name, state.has(name)]).toEqual([type, name, type !== 'ADDED'])
      if (type === 'DELETED') state.delete(name)
      else state.set(name, labels?.['l'] ?? '')
    }
    expect(state).toEqual(this.#matching(this.#model.current, label))
  }

  #matching(state: ReadonlyMap<string, string>, label: string): Map<string, string> {
    return new Map([...state].filter(([, its]) => !label || its === label))
  }
}

describe.each(storeKinds)('lists and watches on %s', (_, openStore) => {
  it('always agree with a naive model, and with each other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = {
          now: () => 0,
          after: () => () => {},
          breathe: () => new Promise<void>((resolve) => setImmediate(resolve)),
        }
        const world = await openTestObjects({ store: openStore(clock) })
        const run = new Run(world)
        try {
          for (const one of steps) await run.take(one)
          await run.finish()
        } finally {
          await world.close()
        }
      }),
      { numRuns: 25 },
    )
  })
})
