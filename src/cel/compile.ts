import { check } from './checker.ts'
import { compileSteps } from './compiler.ts'
import type { Environment } from './environment.ts'
import { CelCompileError, SourceFault, issueAt } from './errors.ts'
import { BudgetExceeded } from './frame.ts'
import { parse } from './parser.ts'
import { Program } from './program.ts'

/** Compiles an expression, or says what is wrong with it and where. */
export function compile(source: string, environment: Environment): Program | CelCompileError {
  try {
    const expr = parse(source, environment.macros, environment.limits)
    const checked = check(expr, environment)
    if (checked.faults.length) return compileError(source, checked.faults)
    return new Program(source, checked, compileSteps(expr, checked))
  } catch (error) {
    if (error instanceof SourceFault) return compileError(source, [error])
    if (error instanceof BudgetExceeded) {
      return compileError(source, [new SourceFault('its literals take too much work to check', 0)])
    }
    throw error
  }
}

function compileError(source: string, faults: readonly SourceFault[]): CelCompileError {
  return new CelCompileError(faults.map(({ message, offset }) => issueAt(source, offset, message)))
}
