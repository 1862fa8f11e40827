import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import { componentOf } from './cycles.ts'
import { Graph } from './graph.ts'
import { preview } from '../preview/preview.ts'

/** A uid for a name: the same each time, and a real UUID. */
function uidOf(name: string): string {
  const hex = createHash('md5').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function object(
  name: string,
  owners: readonly string[] = [],
  metadata: Partial<StoredObject['metadata']> = {},
): StoredObject {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: owner,
    uid: uidOf(owner),
    blockOwnerDeletion: true,
  }))
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: 'team',
      uid: uidOf(name),
      resourceVersion: '1',
      creationTimestamp: '',
      ...(owners.length > 0 ? { ownerReferences } : {}),
      ...metadata,
    },
  }
}

function graphOf(edges: Readonly<Record<string, readonly string[]>>): Graph {
  const graph = new Graph()
  for (const [name, owners] of Object.entries(edges)) graph.put(object(name, owners))
  return graph
}

const nodeOf = (graph: Graph, name: string) => graph.find(uidOf(name)) as number
const dependentsOf = (graph: Graph, name: string) => {
  const node = graph.find(uidOf(name))
  return node === undefined
    ? []
    : graph
        .dependents(node)
        .map((dependent) => graph.object(dependent)?.metadata.name ?? '')
        .toSorted()
}

describe('Graph', () => {
  it('knows dependents whatever the order in which objects come', () => {
    const down = graphOf({ project: [], cluster: ['project'], a: ['cluster'], b: ['cluster'], c: ['cluster'] })
    const up = graphOf({ c: ['cluster'], b: ['cluster'], a: ['cluster'], cluster: ['project'], project: [] })
    for (const graph of [down, up]) {
      expect(graph.size).toBe(5)
      expect(dependentsOf(graph, 'cluster')).toEqual(['a', 'b', 'c'])
      expect(dependentsOf(graph, 'project')).toEqual(['cluster'])
    }
  })

  it('moves edges when owners change, and keeps dependents', () => {
    const graph = graphOf({ one: [], two: [], app: ['one'], pod: ['app'] })
    graph.put(object('app', ['two']))
    expect([dependentsOf(graph, 'one'), dependentsOf(graph, 'two'), dependentsOf(graph, 'app')]).toEqual([
      [],
      ['app'],
      ['pod'],
    ])
    graph.put(object('app'))
    expect(dependentsOf(graph, 'two')).toEqual([])
  })

  it('keeps a removed object as a name while others refer to it', () => {
    const graph = graphOf({ owner: [], a: ['owner'] })
    graph.remove(uidOf('owner'))
    expect(graph.size).toBe(1)
    expect(dependentsOf(graph, 'owner')).toEqual(['a'])
    expect(graph.remove(uidOf('a'))).toHaveLength(1)
    expect(graph.find(uidOf('owner'))).toBeUndefined()
  })

  it('always agrees with a naive model', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'not-a-uuid']
    const step = fc.oneof(
      fc.record({
        do: fc.constant('put' as const),
        name: fc.constantFrom(...names),
        owners: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }),
      }),
      fc.record({ do: fc.constant('remove' as const), name: fc.constantFrom(...names), owners: fc.constant([]) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const graph = new Graph()
        const model = new Map<string, readonly string[]>()
        for (const { do: action, name, owners } of steps) {
          if (action === 'put') {
            graph.put(object(name, owners))
            model.set(name, owners)
          } else {
            graph.remove(uidOf(name))
            model.delete(name)
          }
          expect(graph.size).toBe(model.size)
          for (const candidate of names) {
            const expected = [...model].filter(([, its]) => its.includes(candidate)).map(([dependent]) => dependent)
            expect(dependentsOf(graph, candidate)).toEqual(expected.toSorted())
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  it('takes less than 120 bytes for an object with an owner', () => {
    const graph = new Graph()
    const owner = '00000000-0000-4000-8000-000000000000'
    const count = 50_000
    for (let index = 0; index < count; index++) {
      const uid = `${index.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`
      graph.put({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: 'x',
          uid,
          resourceVersion: '1',
          creationTimestamp: '',
          ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: owner }],
        },
      })
    }
    expect(graph.bytes / count).toBeLessThan(120)
  })
})

describe('componentOf', () => {
  const inForeground = { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] }
  /** All of it leaves in the foreground. */
  const leaving = (edges: Readonly<Record<string, readonly string[]>>) => {
    const graph = new Graph()
    for (const [name, owners] of Object.entries(edges)) graph.put(object(name, owners, inForeground))
    return graph
  }
  const cycleOf = (graph: Graph, name: string) =>
    [...componentOf(graph, nodeOf(graph, name))].map((node) => graph.object(node)?.metadata.name ?? '').toSorted()

  it('finds a ring, and nothing but the ring', () => {
    const graph = leaving({ a: ['c', 'outside'], b: ['a'], c: ['b'], outside: [] })
    expect([cycleOf(graph, 'a'), cycleOf(graph, 'outside')]).toEqual([['a', 'b', 'c'], ['outside']])
  })

  it('is no cycle to its members while one of them waits for an object outside', () => {
    const graph = leaving({ a: ['c'], b: ['a'], c: ['b'], outside: ['b'] })
    expect(cycleOf(graph, 'a')).toEqual(['a'])
    graph.remove(uidOf('outside'))
    expect(cycleOf(graph, 'a')).toEqual(['a', 'b', 'c'])
  })

  it('takes neither a diamond nor a triangle for a ring', () => {
    const graph = leaving({ top: [], left: ['top'], right: ['top'], bottom: ['left', 'right', 'top'] })
    expect(cycleOf(graph, 'top')).toEqual(['top'])
  })

  it('is no ring where one of it does not leave, or does not wait for the next', () => {
    const graph = leaving({ a: ['c'], b: ['a'], c: ['b'] })
    graph.put(object('b', ['a']))
    expect(cycleOf(graph, 'a')).toEqual(['a'])
    graph.put(object('b', ['a'], { deletionTimestamp: 'now', finalizers: ['x.dev/held'] }))
    expect(cycleOf(graph, 'a')).toEqual(['a'])
    graph.put(object('b', ['a'], inForeground))
    expect(cycleOf(graph, 'a')).toEqual(['a', 'b', 'c'])
  })

  it('101: takes a thousand by a thousand owners for no ring, and lets each go once', () => {
    const graph = new Graph()
    graph.put(object('root', [], inForeground))
    const tops = Array.from({ length: 1000 }, (_, index) => `top${index}`)
    for (const top of tops) graph.put(object(top, ['root'], inForeground))
    const { ownerReferences = [] } = object('leaf', tops).metadata
    for (let index = 0; index < 1000; index++)
      graph.put(object(`leaf${index}`, [], { ...inForeground, ownerReferences }))
    expect(cycleOf(graph, 'root')).toEqual(['root'])
    const free = { policy: 'Background', reasonToKeep: () => undefined } as const
    const { nodes } = preview(graph, nodeOf(graph, 'root'), free)
    expect([nodes.leaving, nodes.length]).toEqual([2001, 2001])
  })

  it('101: leaves what any of a thousand owners still keeps', () => {
    const graph = new Graph()
    const tops = Array.from({ length: 1000 }, (_, index) => `top${index}`)
    for (const top of tops) graph.put(object(top))
    const { ownerReferences = [] } = object('leaf', tops).metadata
    for (let index = 0; index < 1000; index++) graph.put(object(`leaf${index}`, [], { ownerReferences }))
    const free = { policy: 'Background', reasonToKeep: () => undefined } as const
    expect(preview(graph, nodeOf(graph, 'top0'), free).nodes.leaving).toBe(1)
  })

  it('walks a chain that no call stack could hold', () => {
    const graph = new Graph()
    for (let index = 0; index < 20_000; index++)
      graph.put(object(`n${index}`, index === 0 ? [] : [`n${index - 1}`], inForeground))
    expect(cycleOf(graph, 'n0')).toEqual(['n0'])
  })
})

describe('preview', () => {
  const actions = (
    graph: Graph,
    root: string,
    policy: 'Background' | 'Orphan' = 'Background',
    kept: readonly string[] = [],
  ) => {
    const reasonToKeep = (node: number) =>
      kept.includes(graph.object(node)?.metadata.name ?? '') ? 'keep-mark' : undefined
    return Object.fromEntries(
      [...preview(graph, nodeOf(graph, root), { policy, reasonToKeep, reasonToRefuse: reasonToKeep }).nodes].map(
        ({ ref, action }) => [ref.name, action],
      ),
    )
  }

  it('takes a whole tree', () =>
    expect(actions(graphOf({ a: [], b: ['a'], c: ['b'] }), 'a')).toEqual({ a: 'delete', b: 'delete', c: 'delete' }))

  it('leaves what another owner keeps', () => {
    expect(actions(graphOf({ a: [], other: [], b: ['a', 'other'], c: ['b'] }), 'a')).toEqual({
      a: 'delete',
      b: 'drop-reference',
    })
  })

  it('takes the bottom of a diamond with its top', () => {
    expect(actions(graphOf({ a: [], l: ['a'], r: ['a'], b: ['l', 'r'] }), 'a')).toEqual({
      a: 'delete',
      l: 'delete',
      r: 'delete',
      b: 'delete',
    })
  })

  it('frees dependents when they are to be orphaned', () =>
    expect(actions(graphOf({ a: [], b: ['a'], c: ['b'] }), 'a', 'Orphan')).toEqual({ a: 'delete', b: 'orphan' }))

  it('leaves what is protected, and what depends on it', () => {
    expect(actions(graphOf({ a: [], b: ['a'], c: ['b'] }), 'a', 'Background', ['b'])).toEqual({
      a: 'delete',
      b: 'keep',
    })
  })

  it('says that a protected root goes nowhere', () =>
    expect(actions(graphOf({ a: [], b: ['a'] }), 'a', 'Background', ['a'])).toEqual({ a: 'refuse' }))

  it('walks round a ring once', () =>
    expect(actions(graphOf({ a: ['c'], b: ['a'], c: ['b'] }), 'a')).toEqual({ a: 'delete', b: 'delete', c: 'delete' }))
})
