import type { Signature } from './signature.ts'
import { dynType, typeText, type Type } from './types.ts'
import type { Unifier } from './unifier.ts'

/** The signatures that take such arguments, and what they give: dyn when they do not agree, undefined when none does. */
export function matchSignatures<S extends Signature>(
  unifier: Unifier,
  candidates: readonly S[],
  args: readonly Type[],
): { readonly matches: readonly S[]; readonly result: Type | undefined } {
  const matches: S[] = []
  let result: Type | undefined
  for (const candidate of candidates) {
    const given = resultFor(unifier, candidate, args)
    if (!given) continue
    matches.push(candidate)
    result = result === undefined || isSameType(result, given) ? given : dynType
  }
  return { matches, result }
}

function resultFor(unifier: Unifier, candidate: Signature, args: readonly Type[]): Type | undefined {
  if (candidate.parameters.length !== args.length) return undefined
  const { parameters, result } = unifier.instance(candidate)
  const isMatch = unifier.attempt(() => parameters.every((parameter, index) => unifier.assign(parameter, args[index]!)))
  return isMatch ? unifier.resolve(result) : undefined
}

function isSameType(a: Type, b: Type): boolean {
  return a === b || (a.kind === b.kind && typeText(a) === typeText(b))
}
