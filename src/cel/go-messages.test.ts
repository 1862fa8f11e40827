import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { kubernetesEnvironment } from './environments.ts'
import { CelCompileError } from './errors.ts'
import { dynType } from './types.ts'
import { celGoIssues } from './go-messages.ts'

const environment = kubernetesEnvironment({ self: dynType })

/** `1:4 message`, one for each fault. */
function faultsOf(source: string): readonly string[] {
  const program = compile(source, environment)
  if (!(program instanceof CelCompileError)) return []
  return celGoIssues(program.issues, source).map(({ line, column, message }) => `${line}:${column} ${message}`)
}

const token = fc.constantFrom(
  ...'self . [ ] ( ) { } , : ? ! - + * / % == != < > <= >= && || in true null 1 1u 2.5 "a" \'b\' b"c" r"d" has all a'.split(
    ' ',
  ),
  ...'& | = # ; " \' \\ ` "\\q" "\\ // for'.split(' '),
  '\n',
  ' ',
  '9'.repeat(30),
)

describe('celGoIssues', () => {
  it.each([
    [
      'self.a = 1',
      ["1:8 Syntax error: token recognition error at: '= '", "1:10 Syntax error: extraneous input '1' expecting <EOF>"],
    ],
    ['(self.a', ["1:8 Syntax error: missing ')' at '<EOF>'"]],
    ['[1, 2', ["1:6 Syntax error: mismatched input '<EOF>' expecting {']', ','}"]],
    ['self.a b', ["1:8 Syntax error: extraneous input 'b' expecting <EOF>"]],
    ['self.', ["1:6 Syntax error: no viable alternative at input '.'"]],
    ['for', ['1:1 reserved identifier: for']],
    ['self.a == 1', []],
  ])('words %j as cel-go does', (source, expected) => expect(faultsOf(source)).toEqual(expected))

  it('has words for whatever does not compile', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), fc.constantFrom('', ' '), (tokens, space) => {
        const source = tokens.join(space)
        const isFine = !(compile(source, environment) instanceof CelCompileError)
        expect(faultsOf(source).length > 0).toBe(!isFine)
      }),
      { interruptAfterTimeLimit: 2500, markInterruptAsFailure: false, numRuns: 5000 },
    )
  })
})
