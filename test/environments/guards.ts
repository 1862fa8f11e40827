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
    ['holds while use cannot be seen', 'return isVisible(announcement, facts) ?', 'return now > 0 ?'],
    ['announces nothing while use cannot be seen', 'if (!isVisible(due, facts)) return', 'if (now < 0) return'],
    ['announces with the whole warning, however late it looks', 'date: Math.max(due.at, now + warnMs)', 'date: due.at'],
    ['never moves the date nearer', 'if (due.at > announcement.date)', 'if (due.at !== announcement.date)'],
    ['announces another reason anew', 'Math.max(announcement.date, now + warnMs)', 'due.at'],
    ['leaves the whole grace to an old Namespace', 'Math.max(pull.closedAt, facts.managedSince)', 'pull.closedAt'],
    ['withdraws instead of moving', 'return isSame && now >= due.at', 'return now >= due.at'],
    [
      'deletes for a closed pull request at the announced date',
      'preferences.indexOf(true) : preferences.length',
      'preferences.indexOf(true) : 0',
    ],
    ['keeps nothing beyond the maximum age', 'Math.min(facts.keepUntil ?? 0, oldest)', '(keepUntil ?? 0)'],
  ]),
  ...inFile('src/systems/environments/decision/facts.ts', [
    [
      'through a Service that the activator refuses',
      "return onDemandOf(service)?.status === 'True'",
      'return onDemandOf(service) !== undefined',
    ],
    [
      'while the activator has not said that it serves one',
      "return onDemandOf(service)?.status === 'True'",
      "return onDemandOf(service)?.status !== 'False'",
    ],
  ]),
  ...inFile('src/systems/environments/decision/assess.ts', [
    ['moves a date that is near', 'isRepeated && !isNear', 'isRepeated'],
  ]),
  ...inFile('src/systems/activator/model/power-kinds.ts', [
    ['restores an environment with all workloads asleep', '[annotation.asleepSince]: formatTime(now)', ''],
    ['restores an environment with all workloads asleep', 'replicas === 0 || isOwned ||', 'replicas === 0 ||'],
  ]),
  ...inFile('src/forges/pull-requests.ts', [
    [
      'lets a due deletion wait until the pull request was read, without a write',
      '(before || retryAt < this.#startedAt + startMs)',
      'before',
    ],
  ]),
  ...inFile('src/systems/environments/decision/conditions.ts', [
    ['writes nothing while the forge is still down', 'if (!problem && (!seen || isSpent)) return []', ''],
    [
      'writes nothing while the budget of the forge is spent, nor when the pull requests are read',
      '(!seen || isSpent)',
      '!seen',
    ],
  ]),
  ...inFile('src/forges/pull-access.ts', [
    ['never sends the token', 'host === address.host &&', ''],
    [
      'never sends the token',
      'repositories.some((each) => matchesGlob(each, address.repository))',
      'repositories.length > 0',
    ],
  ]),
  ...inFile('src/systems/environments/deletion/tools.ts', [
    ['is held by a Kustomization that', 'isHere && isInside &&', 'isHere &&'],
  ]),
  ...inFile('src/systems/environments/deletion/delete.ts', [
    [
      'gives a ResourceSet that made the Namespace the time to delete it',
      'if (waited < generatorPatienceMs) return',
      'if (now < 0) return',
    ],
  ]),
  ...inFile('src/systems/environments/controller.ts', [
    [
      'lets a due deletion wait until the pull request was read, without a write',
      "if (this.#isUnread(around) && assessed.stay.do === 'hold' &&",
      "if (now < 0 && assessed.stay.do === 'hold' &&",
    ],
    ['records that the owner was told though the cache is late', 'self && attempt < 10', 'self && attempt < 1'],
    ['the second time within an hour is held', 'if (deletions.length > 1)', 'if (deletions.length > 100)'],
    [
      'decides nothing while workloads may not be read',
      'if (blindness) return this.#waitForSight(name, blindness)',
      'void blindness',
    ],
    [
      'lets a claim outside the selector delete only what its author may delete',
      '!this.#options.dryRun && !around.refusal &&',
      '!this.#options.dryRun &&',
    ],
    [
      'tells an owner of many environments in one notice a day',
      'ports.clock.now() >= this.#ownSlot(each)',
      'each !== undefined',
    ],
  ]),
]
