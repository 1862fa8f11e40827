import { describe, expect, it } from 'vitest'
import { hostileTexts } from '../../test/parsing/hostile-texts.ts'
import { limits } from './limits.ts'
import { readYaml } from './yaml-text.ts'

const read = (text: string) => readYaml(text, limits.apiYaml)

function hostile(name: string): string {
  return hostileTexts.find((text) => text.name === name)?.bytes.toString() ?? ''
}

describe('readYaml', () => {
  it.each<[string, string, string]>([
    ['82: a cycle', 'a: &a\n- *a\n- *a\n', 'depth'],
    ['82: a cycle of its own', '&a [*a]', 'depth'],
    ['82: a cycle through a mapping', '&a {b: {c: *a}}', 'depth'],
    ['83: brackets', '['.repeat(200_000), 'depth'],
    ['83: nested block lists', '- '.repeat(1000), 'depth'],
    ['84: aliases', `a: &a x\nb:\n${'- *a\n'.repeat(600)}`, 'aliases'],
    ['85: laughs', hostile('85: billion laughs'), 'nodes'],
    ['85: long text behind aliases', `a: &a ${'x'.repeat(100_000)}\nb:\n${'- *a\n'.repeat(99)}`, 'bytes'],
    ['86: merges', hostile('86: merges'), 'syntax'],
    ['two documents', 'a: 1\n---\nb: 2\n', 'documents'],
    ['many values', '- a\n'.repeat(200_001), 'nodes'],
    ['too many bytes', 'a'.repeat(3 * 1024 * 1024 + 1), 'bytes'],
    ['no YAML', 'a: [b', 'syntax'],
    ['an unknown tag', '!!js/function x', 'syntax'],
  ])('refuses %s', (_, text, because) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ name: 'ParseRefusal', because }))
  })

  it('87: reads three megabytes of comments at once', () => {
    expect(read('#\n'.repeat(1_500_000)).documents).toEqual([])
  })

  it('92: takes __proto__ and constructor for plain keys', () => {
    const [value] = read('data: {__proto__: a, constructor: b}').documents as [{ data: object }]
    expect(Object.entries(value.data)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
    expect(Object.getPrototypeOf(value.data)).toBe(Object.prototype)
  })

  it('follows aliases and merge keys', () => {
    expect(read('a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}').documents).toEqual([
      { a: { x: 1 }, b: { x: 1 }, c: { x: 1, y: 2 } },
    ])
  })

  it.each<[string, readonly string[]]>([
    ['a: 1\na: 2', ['line 2: key "a" already set in map']],
    ['a:\n  b: 1\n  b:\n    c: 1\n', ['line 4: key "b" already set in map']],
    ['{a: 1, b: {c: 1, c: 2}, a: 3}', ['line 1: key "c" already set in map', 'line 1: key "a" already set in map']],
    ['- a: 1\n- a: 2', []],
    ['1: a\n1: b\ntrue: a\ntrue: b', ['line 2: key 1 already set in map', 'line 4: key true already set in map']],
    ['a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {<<: *a, <<: *a}', []],
    ['"a\\tb": 1\n"a\\tb": 2', [String.raw`line 2: key "a\tb" already set in map`]],
  ])('reports the duplicates of %j', (text, duplicates) => expect(read(text).duplicates).toEqual(duplicates))
})
