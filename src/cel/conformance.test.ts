import { describe, expect, it } from 'vitest'
import { protobufFreeCases } from '../../test/cel/conformance-cases.ts'
import { failureOf } from '../../test/cel/run-conformance-case.ts'

const extensions = new Set([
  'bindings_ext',
  'encoders_ext',
  'macros2',
  'math_ext',
  'optionals',
  'string_ext',
  'type_deductions',
])
const cases = protobufFreeCases()

describe('conformance with cel-spec, tests that need no protobuf messages', () => {
  it.each([...new Set(cases.map(({ file }) => file))])('passes every test of %s', (file) => {
    const failures = cases
      .filter((one) => one.file === file)
      .map((one) => ({ name: one.name, expr: one.test.expr, failure: failureOf(one) }))
      .filter(({ failure }) => failure !== undefined)
    expect(failures).toEqual([])
  })

  it('covers the data: over a thousand core tests, over five hundred of extensions', () => {
    const core = cases.filter(({ file }) => !extensions.has(file))
    expect(core.length).toBeGreaterThan(1000)
    expect(cases.length - core.length).toBeGreaterThan(500)
  })
})
