import { describe, expect, it } from 'vitest'
import { compile } from '../compile.ts'
import { cleanerEnvironment, kubernetesEnvironment } from '../environments.ts'
import { CelCompileError, CelError } from '../errors.ts'
import { toJson } from '../json.ts'
import { dynType } from '../types.ts'

function result(source: string, bindings: Readonly<Record<string, unknown>> = {}): unknown {
  const variables = Object.fromEntries(Object.keys(bindings).map((name) => [name, dynType]))
  const program = compile(source, cleanerEnvironment(variables))
  if (program instanceof CelCompileError) throw program
  const value = program.evaluate(bindings)
  return value instanceof CelError ? `error: ${value.message}` : toJson(value)
}

/** Lists of each comparable type, unsorted and sorted. */
const lists: readonly (readonly [string, string, string])[] = [
  [
    'timestamps',
    "[timestamp('2026-01-02T00:00:00Z'), timestamp('2026-01-01T00:00:00Z')]",
    "[timestamp('2026-01-01T00:00:00Z'), timestamp('2026-01-02T00:00:00Z')]",
  ],
  ['durations', "[duration('1h'), duration('1s')]", "[duration('1s'), duration('1h')]"],
  ['ints', '[3, -1, 2]', '[-1, 2, 3]'],
  ['uints', '[3u, 1u]', '[1u, 3u]'],
  ['doubles', '[2.5, -0.5]', '[-0.5, 2.5]'],
  ['bytes', "[b'b', b'a']", "[b'a', b'b']"],
  ['bools', '[true, false]', '[false, true]'],
  ['strings', "['b', 'a']", "['a', 'b']"],
]

describe('sort_by', () => {
  it.each(lists)('puts %s in ascending order', (_, given, sorted) => {
    expect(result(`${given}.sort_by(x, x) == ${sorted}`)).toBe(true)
  })

  it('sorts objects by a field', () => {
    const items = [{ at: '2026-01-02T00:00:00Z' }, { at: '2026-01-01T00:00:00Z' }]
    expect(result('items.sort_by(i, i.at)[0].at', { items })).toBe('2026-01-01T00:00:00Z')
  })

  it('keeps the order of equal keys', () => {
    const items = ['a', 'b', 'c', 'd'].map((name) => ({ name, key: 1 }))
    expect(result('items.sort_by(i, i.key).map(i, i.name)', { items })).toEqual(['a', 'b', 'c', 'd'])
  })

  it.each([
    ["[1, dyn('a')].sort_by(x, x)", 'error: no such overload'],
    ['[{"a": 1}].sort_by(x, x.b)', 'error: no such key: b'],
    ['[[1]].sort_by(x, x)', 'error: no such overload'],
  ])('refuses %s', (source, message) => expect(result(source)).toBe(message))

  it('is made of pairs that users can make, too', () => {
    expect(result("sort([pair(2, 'b'), pair(1, 'a')])")).toEqual(['a', 'b'])
  })
})

describe('reverse_list', () => {
  it.each(lists)('turns a list of %s round', (_, given) => {
    expect(
      result(
        `${given}.reverse_list().reverse_list() == ${given} && ${given}.reverse_list()[0] == ${given}[size(${given}) - 1]`,
      ),
    ).toBe(true)
  })
})

it('leaves its additions out of what Kubernetes has', () => {
  expect(compile('[1].reverse_list()', kubernetesEnvironment({}))).toBeInstanceOf(CelCompileError)
})
