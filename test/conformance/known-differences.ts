const selectorWords = 'a malformed selector is refused, in words of our own'
const patchWords = 'the faults of a patched object quote it in another order of fields'
const replaceMissing = 'RFC 6902 wants the target of a replace to exist; the other server lets it pass'
const definitionWords = 'faults of a definition are found, in other words or another number'

/** Where we are known to answer differently: scenario, index of the step, why. A difference that ended must leave this list. */
export const knownDifferences: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  bodies: { 28: 'of a repeated map the last one counts here; Go merges them' },
  lifecycle: {
    18: 'a resourceVersion that is no number is a conflict here; the other server fails with 500',
    30: 'the same fault is told once, not twice',
  },
  lists: {
    ...Object.fromEntries(
      [4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 23, 39].map((index) => [index, selectorWords]),
    ),
    15: 'numbers in label selectors (gt, lt) are not supported',
    24: 'an empty field name is refused',
    32: 'a malformed continue token is refused, in words of our own',
    33: 'a malformed continue token is refused, in words of our own',
    34: 'a malformed continue token is refused, in words of our own',
  },
  patches: {
    7: 'the same fault is told once, not twice',
    8: patchWords,
    9: patchWords,
    10: patchWords,
    16: replaceMissing,
    17: replaceMissing,
    18: replaceMissing,
    23: 'an operation that is no object is refused, with another code',
    26: replaceMissing,
    32: 'an applied object must say its name',
  },
  builtins: {
    11: 'the entry that /scale leaves in managedFields has its time',
    32: 'a pod that is not there is told before a name that does not fit',
    34: 'a pod that is not there is told before a name that does not fit',
  },
  definitions: Object.fromEntries([2, 3, 4, 7, 9].map((index) => [index, definitionWords])),
  'custom-resources': {
    10: 'the other server also warns of the fields it could not know',
  },
}
