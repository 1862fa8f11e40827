import type { CleanupPolicySpec } from '../../../apis/cleanup-policy.ts'
import type { Described } from '../model/attribute.ts'
import { cloudRules } from './cloud-rules.ts'
import { expressionRule } from './expression-rule.ts'
import { generalRules } from './general-rules.ts'
import type { Check, Rule } from './rule.ts'

/** Every rule, by the name that policies use. */
export const rules: Readonly<Record<string, Rule>> = { ...generalRules, ...cloudRules, Expression: expressionRule }

/** Why a rule matched, for marks and notices. */
export interface Summary {
  readonly rule: string
  readonly description: string
}

/** The combined answer of all branches. */
export type TreeAnswer =
  | { readonly matches: true; readonly summaries: readonly Summary[] }
  | { readonly matches: false; readonly because?: string }
  | {
      readonly matches: 'undecided'
      readonly because: string
      /** The field of a wrong rule. */ readonly fault?: string
    }

export interface Problem {
  readonly field: string
  readonly problem: string
}

/** Compiled branches: any one suffices; within a branch, AND needs all rules and OR any. */
export type RuleTree = (described: Described, now: number) => TreeAnswer

interface CompiledRule {
  readonly name: string
  readonly field: string
  readonly description: string | undefined
  readonly kinds: readonly string[] | undefined
  readonly check: Check
}

interface Branch {
  readonly all: boolean
  readonly rules: readonly CompiledRule[]
}

/** Compiles a policy's rules; adds what is wrong to `problems`, by field, and rules that mean nothing for the targeted kinds. */
export function compileRules(
  branches: CleanupPolicySpec['rules'],
  problems: Problem[],
  targeted?: readonly string[],
): RuleTree {
  const compiled = branches.map(({ operator = 'OR', rules: members }, branchIndex): Branch => ({
    all: operator === 'AND',
    rules: members.flatMap((member, index) => {
      const field = `spec.rules[${branchIndex}].rules[${index}]`
      const rule = Object.hasOwn(rules, member.name) ? rules[member.name] : undefined
      if (!rule) {
        problems.push({ field: `${field}.name`, problem: `unknown rule "${member.name}"` })
        return []
      }
      if (rule.kinds && targeted && !rule.kinds.some((kind) => targeted.includes(kind)))
        problems.push({
          field: `${field}.name`,
          problem: `${member.name} is about ${rule.kinds.join(' and ')}, which this policy does not target: its branch would never match`,
        })
      try {
        const check = rule.compile(member.parameters ?? {})
        return [
          {
            name: member.name,
            field: `${field}.parameters`,
            description: member.description,
            kinds: rule.kinds,
            check,
          },
        ]
      } catch (error) {
        problems.push({ field: `${field}.parameters`, problem: (error as Error).message })
        return []
      }
    }),
  }))
  return (described, now) => evaluate(compiled, described, now)
}

function evaluate(branches: readonly Branch[], described: Described, now: number): TreeAnswer {
  const summaries = new Map<string, Summary>()
  let doubt: TreeAnswer | undefined
  let nearest: TreeAnswer = { matches: false }
  for (const branch of branches) {
    // A rule that does not apply to this kind voids its branch: without it the branch might match too much.
    if (branch.rules.some(({ kinds }) => kinds && !kinds.includes(described.resource.kind))) continue
    const answer = evaluateBranch(branch, described, now)
    if (answer.matches === 'undecided') doubt ??= answer
    else if (answer.matches === false) nearest = answer
    else for (const summary of answer.summaries) summaries.set(`${summary.rule}/${summary.description}`, summary)
  }
  if (summaries.size > 0) return { matches: true, summaries: [...summaries.values()] }
  return doubt ?? nearest
}

function evaluateBranch({ all, rules: members }: Branch, described: Described, now: number): TreeAnswer {
  const summaries: Summary[] = []
  let doubt: TreeAnswer | undefined
  let missed: TreeAnswer = { matches: false }
  for (const { name, field, description, check } of members) {
    const answer = check(described, now)
    if (answer.hit === true) summaries.push({ rule: name, description: description ?? answer.says })
    else if (answer.hit === 'undecided')
      doubt ??= { matches: 'undecided', because: answer.because, ...(answer.isFault ? { fault: field } : {}) }
    else {
      missed = { matches: false, because: `rule ${name}: ${answer.because ?? 'does not match'}` }
      if (all) return missed
    }
  }
  if (all && doubt) return doubt
  if (summaries.length > 0) return { matches: true, summaries }
  return doubt ?? missed
}
