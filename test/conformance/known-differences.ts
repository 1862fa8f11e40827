const timesTold = 'the same faults are told another number of times'

/** Where we are known to answer differently: scenario, index of the step, why. A difference that ended must leave this list. */
export const knownDifferences: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  bodies: { 28: 'of a repeated map the last one counts here, for all kinds alike; Go merges them in built-in kinds' },
  builtins: { 11: 'the entry that /scale leaves in managedFields keeps its time here; the other server loses it' },
  'custom-resources': {
    10: 'the other server also warns of the fields it could not know',
  },
  'malformed-patches': { 67: timesTold },
}
