import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps requests to pipelines and checks by Jobs within the rights of users. */
export const promoterGuards: readonly Guard[] = [
  ...inFile('src/systems/promoter/reconcile.ts', [
    ['137: no connection', 'withoutTargets(plan, refusals), pipeline', 'plan, pipeline'],
  ]),
  ...inFile('src/client/discovery.ts', [['138: asks for no other path', 'names.map(encodeURIComponent)', 'names']]),
  ...inFile('src/systems/promoter/decision/approvals.ts', [
    ['never counts as an approval, even if it names the promotion', ' && !isRequest(approval)', ''],
  ]),
  ...inFile('src/systems/promoter/decision/approvals.ts', [
    [
      'is for the listed approvers where an environment has a list',
      "if (approvers && !approvers.includes(by)) return 'NotAnApprover'",
      '',
    ],
    [
      'goes to one environment without waiting for those before, and only with a revision that was seen',
      "return isRollback ? 'NothingToRollBackTo' : 'RevisionNotSeen'",
      "return 'Requested'",
    ],
  ]),
  ...inFile('src/systems/promoter/decision/approvals.ts', [
    [
      'is carried out once, oldest first, however many came while no promoter was running',
      'byAge.slice(0, maxAtOnce)',
      'byAge',
    ],
  ]),
  ...inFile('src/systems/promoter/repository/change.ts', [
    [
      '131: is refused by the number of its paths',
      '++visits > maxVisits',
      '(++visits > maxVisits && files.length > 4_000_000)',
    ],
    ['131: is refused by the length', '|| path.length > maxPathLength', ''],
    ['131: is refused by the number of its marked', 'edits.size >= maxEdits', 'edits.size >= 1e9'],
  ]),
  ...inFile('src/systems/promoter/decision/approvals.ts', [
    [
      'to an earlier Pipeline of the same name, as from a backup without status, changes nothing',
      ' && !isOfFormer(each, observed.pipeline)',
      '',
    ],
  ]),
  ...inFile('src/systems/promoter/strategies/pull-request.ts', [
    [
      'of its number only if that is its own',
      'if (pull.head === branches.head || pull.body.includes(promotionMark(id))) return pull',
      'return pull',
    ],
    ['merges automatically only while nothing pauses it', " && paused === 'no'", ''],
  ]),
  ...inFile('src/systems/promoter/strategies/verify.ts', [
    [
      'creates no Job with rights that the creator of the Pipeline does not have',
      'if (refusal) return refusal.message',
      '',
    ],
  ]),
  ...inFile('src/systems/promoter/targets/target-access.ts', [
    [
      'checks the rights for the version that is read in place of one that is not served',
      'await servedType(this.#ports.client, app)',
      'await this.#ports.client.discovery.typeOf(app)',
    ],
  ]),
  ...inFile('src/parsing/answer-text.ts', [
    ['133: fills no memory', 'Math.min(limits.answer.nodes, 1000 + bytes.length / 8)', 'Infinity'],
    ['144: counts its values', 'if (countValues(bytes) > nodes)', 'if (bytes.length > 1e12)'],
  ]),
  ...inFile('src/client/network-transport.ts', [
    ['144: a list', '{ maxBytes, readJson: readAnswer }', '{ maxBytes, readJson: parseJson }'],
  ]),
  ...inFile('src/runtime/cache/byte-budget.ts', [
    ['145: fills no memory', 'if (this.#used + bytes > this.#limit)', 'if (bytes > 1e12)'],
  ]),
  ...inFile('src/forges/forge-api.ts', [
    ['133: fills no memory by a list', 'if (bytes > maxListBytes)', 'if (bytes > 1e12)'],
    ['133: fills no cache', 'super(16 * 1024 * 1024, ', 'super(1e12, '],
    ['133: fills no cache', 'if (etag && bytes <= maxAnswerHere)', 'if (etag)'],
    ['133: is asked with its own', 'const key = `${this.#cacheKey} ${path}`', 'const key = path'],
  ]),
  ...inFile('src/forges/rate-limiter.ts', [
    [
      '133: has its limits forgotten',
      'new BoundedMap<string, Account>(10_000)',
      'new BoundedMap<string, Account>(1e9)',
    ],
  ]),
  ...inFile('src/systems/promoter/effects/perform.ts', [
    ['133: is not held back', '`webhook of ${namespace}/${name', '`webhook of ${name'],
  ]),
]
