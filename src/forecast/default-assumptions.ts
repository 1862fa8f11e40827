import { assumptionSentence, type Assumption } from './assumption.ts'

/** What every forecast assumes of pull requests and rollouts, unless an assumption says otherwise. */
const defaults: readonly Assumption[] = [
  { assume: 'merged', afterMs: Infinity },
  { assume: 'rolled-out', afterMs: 60_000 },
]

/** The given assumptions after the default ones: of several delays, the last counts. */
export function withDefaults(given: readonly Assumption[]): readonly Assumption[] {
  return [...defaults, ...given]
}

/** How long after its cause this happens; Infinity for never. */
export function delayOf(assumptions: readonly Assumption[], what: 'merged' | 'rolled-out'): number {
  const found = assumptions.findLast(({ assume }) => assume === what)
  return found && 'afterMs' in found ? found.afterMs : Infinity
}

/** Everything a forecast assumes, a sentence each. */
export function assumptionSentences(given: readonly Assumption[]): readonly string[] {
  const all = withDefaults(given)
  return [
    `no ${given.length > 0 ? 'other ' : ''}requests, approvals, opt-outs or edits`,
    'Jobs succeed within a minute',
    ...all.filter((each) => isEffective(each, all)).map(assumptionSentence),
  ]
}

/** A later delay replaces an earlier one; events all happen. */
function isEffective(assumption: Assumption, all: readonly Assumption[]): boolean {
  return 'at' in assumption || all.findLast(({ assume }) => assume === assumption.assume) === assumption
}
