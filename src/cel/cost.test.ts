import { describe, expect, it } from 'vitest'
import { estimateCost, mostInRequest, type BoundedSchema } from './cost.ts'
import { kubernetesEnvironment } from './environments.ts'

const { macros } = kubernetesEnvironment({})
const text: BoundedSchema = { type: 'string' }
const list = (items: BoundedSchema, maxItems?: number): BoundedSchema => ({
  type: 'array',
  items,
  ...(maxItems === undefined ? {} : { maxItems }),
})
const fields = (properties: Record<string, BoundedSchema>): BoundedSchema => ({ type: 'object', properties })
const items = list(fields({ t: text }))

describe('estimateCost', () => {
  // What kube-apiserver 1.36 accepts costs at most ten million there; the factors are those that it names.
  it.each<[string, BoundedSchema, string, number, number]>([
    ['one list', fields({ a: list(text) }), 'self.a.all(x, x != "a")', 0, 1],
    [
      'a pattern on a bounded list',
      fields({ a: list({ ...text, maxLength: 63 }, 100) }),
      'self.a.all(x, x.matches("a"))',
      0,
      1,
    ],
    ['a pattern on any list', fields({ a: list(text) }), 'self.a.all(x, x.matches("^[a-z]+$"))', 100, Infinity],
    [
      'a list in a list',
      fields({ a: list(text), b: list(text) }),
      'self.a.all(x, self.b.exists(y, x == y))',
      100,
      Infinity,
    ],
    [
      'two bounded lists',
      fields({ a: list(text, 64), b: list({ ...text, maxLength: 64 }, 64) }),
      'self.a.all(x, self.b.exists(y, x == y))',
      0,
      1,
    ],
    [
      'keys of a map',
      fields({ a: { type: 'object', additionalProperties: text } }),
      'self.a.all(k, k.matches("^a"))',
      0,
      1,
    ],
    ['two texts', fields({ a: text, b: text }), 'self.a.contains(self.b)', 100, Infinity],
    ['two equal texts', fields({ a: text, b: text }), 'self.a == self.b', 0, 1],
    ['a filter', fields({ a: items }), 'self.a.filter(x, x.t == "y").size() == 1', 1.5, 1.7],
    ['a mapped list', fields({ a: items }), 'self.a.map(x, x.t).all(y, y.matches("^a"))', 1.7, 2],
    ['choices', fields({ a: list({ type: 'string', enum: ['A', 'B'] }) }), 'self.a.all(x, x == "A" || x == "B")', 0, 1],
    [
      'a function',
      fields({ a: text }),
      'isURL(self.a) ? url(self.a).getHost() == "a" : !(self.a in ["a", {"b": self.a}.b])',
      0,
      1,
    ],
  ])('is as high for %s as Kubernetes says, or lower', (_, self, rule, least, most) => {
    const factor = estimateCost(rule, macros, { self }) / 10_000_000
    expect(factor).toBeGreaterThanOrEqual(least)
    expect(factor).toBeLessThanOrEqual(most)
  })

  it('counts the values that fit in one request', () => {
    expect(mostInRequest({ type: 'integer' })).toBe(1_572_864)
    expect(mostInRequest({ type: 'object', required: ['name'], properties: { name: text } })).toBe(241_979)
  })
})
