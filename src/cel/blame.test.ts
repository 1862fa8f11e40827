import { describe, expect, it } from 'vitest'
import { blame } from './blame.ts'
import { cleanerEnvironment } from './environments.ts'
import { Budget } from './frame.ts'
import { dynType } from './types.ts'

const environment = cleanerEnvironment({ pods: dynType, secret: dynType })
const bindings = {
  pods: { items: [{ ready: true, tags: ['a'] }, { ready: false, tags: ['a', 'b'] }, { tags: [] }] },
  secret: { data: { password: 'hunter2' } },
}
const blamed = (source: string, result: 'false' | 'error' = 'false') =>
  blame({ source, environment }, { bindings, budget: new Budget(100_000), result })

describe('what is to blame', () => {
  it.each<[string, string, string, readonly number[]]>([
    ['the false term of a conjunction', 'true && (1 > 2)', '1:10', []],
    ['the item that all fails for', 'pods.items.all(p, p.ready)', '1:19', [1]],
    ['the item that may not exist', '!pods.items.exists(p, "b" in p.tags)', '1:23', [1]],
    ['an item of an item', 'true &&\n  !pods.items.exists(p, p.tags.exists(t, t == "b"))', '2:42', [1, 1]],
    ['a part behind a bind', 'cel.bind(n, 3, true && n == 4)', '1:24', []],
  ])('is %s', (_, source, at, items) => {
    const found = blamed(source)
    expect([`${found?.line}:${found?.column}`, found?.items]).toEqual([at, items])
  })

  it('is where and for which item an evaluation fails', () => {
    expect(blamed('pods.items.all(p, p.ready || !p.ready)', 'error')).toEqual({ line: 1, column: 19, items: [2] })
    expect(blamed('size(secret.data.nothing) > 0', 'error')).toMatchObject({ line: 1, column: 6 })
  })

  it.each(['false', '1 > 2', 'false || 1 > 2'])('is nothing in particular in %s', (source) => {
    expect(blamed(source)).toBeUndefined()
  })

  it('is unknown when the cost limit is reached', () => {
    const budget = new Budget(1)
    expect(
      blame({ source: 'pods.items.all(p, p.ready)', environment }, { bindings, budget, result: 'false' }),
    ).toBeUndefined()
  })
})
