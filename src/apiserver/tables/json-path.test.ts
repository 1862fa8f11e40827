import { describe, expect, it } from 'vitest'
import { parseJsonPath } from './json-path.ts'

const object = {
  spec: { size: 3, 'a.b': 'dotted', list: [{ name: 'x' }, { name: 'y' }], empty: null },
  metadata: { annotations: { 'sojourn.dev/note': 'hello' } },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Stalled', status: 'False', reason: 'Fine (really)' },
    ],
  },
}

describe('parseJsonPath', () => {
  it.each([
    ['.spec.size', [3]],
    ['$.spec.size', [3]],
    [".spec['a.b']", ['dotted']],
    [String.raw`.spec.a\.b`, ['dotted']],
    [String.raw`.metadata.annotations.sojourn\.dev/note`, ['hello']],
    ['.spec.list[0].name', ['x']],
    ['.spec.list[-1].name', ['y']],
    ['.spec.list[*].name', ['x', 'y']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Stalled')].reason", ['Fine (really)']],
    ['.status.conditions[?(@.reason=="Fine (really)")].type', ['Stalled']],
    ['.status.conditions[?(@.reason)].type', ['Stalled']],
    ['.status.conditions[?(@.type!="Ready")].type', ['Stalled']],
    ['.spec.empty', []],
    ['.spec.missing.deeper', []],
    ['.spec.toString', []],
    ['.spec.size.deeper', []],
  ])('reads %s', (path, expected) => expect(parseJsonPath(path)?.(object)).toEqual(expected))

  it.each(['spec.size', '.spec[', '.spec..size', '.spec[?(@.a)', '{.spec}'])('does not take %s for a path', (path) =>
    expect(parseJsonPath(path)).toBeUndefined(),
  )
})
