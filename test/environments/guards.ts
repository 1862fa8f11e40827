import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** Where tests of environments are. */
export const testFolders = ['src/systems/environments']

/** The numbers of cases are words of test names here: each guard names the test that misses it. */
export const cases: readonly string[] = []

/** What keeps an environment from being deleted, or a token from being sent. */
export const guards: readonly Guard[] = [
  ...inFile('src/systems/environments/decision/stay.ts', [
    [
      'counts the warning from the notice, not from the announcement',
      'if (now < from) return',
      'if (now < date) return',
    ],
    [
      'holds the deletion while no owner could be told',
      'if (!isTold && needsNotice) {',
      'if (now < 0 && needsNotice) {',
    ],
    [
      'holds while the pull request cannot be read',
      'if (facts.pull && !facts.pull.isKnown) return',
      'if (now < 0) return',
    ],
    ['holds while use cannot be seen', 'if (!facts.isUseVisible && dependsOnUse', 'if (now < 0 && dependsOnUse'],
    ['announces with the whole warning, however late it looks', 'date: Math.max(due.at, now + warnMs)', 'date: due.at'],
    ['never moves the date nearer', 'if (due.at > announcement.date) {', 'if (due.at !== announcement.date) {'],
    ['keeps nothing beyond the maximum age', 'Math.min(keepUntil ?? 0, oldest)', '(keepUntil ?? 0)'],
  ]),
  ...inFile('src/systems/environments/pulls/pull-address.ts', [
    ['never sends the token', 'host === address.host &&', ''],
    [
      'never sends the token',
      'repositories.some((each) => matchesGlob(each, address.repository))',
      'repositories.length > 0',
    ],
  ]),
  ...inFile('src/systems/environments/controller.ts', [
    [
      'lets a claim outside the selector delete only what its author may delete',
      'if (around.refusal || around.isBeyondLimit) return',
      'if (around.isBeyondLimit) return',
    ],
    [
      'tells an owner of many environments in one notice a day',
      '|| (mails && ports.clock.now() < this.#ownSlot(owner))',
      '',
    ],
  ]),
]
