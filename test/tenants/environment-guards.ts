import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps environments, their classes and their sleep within the rights of tenants. */
export const environmentGuards: readonly Guard[] = [
  ...inFile('src/systems/environments/controller.ts', [
    [
      '98: hooks',
      'actor: confinedActor(client, name),',
      'actor: { client, refusalOf: () => Promise.resolve(undefined) },',
    ],
    [
      '139: takes no step',
      'if (around.refusal) return this.#holdDeletion',
      'if (false as boolean) return this.#holdDeletion',
    ],
    [
      '138: is not deleted after all',
      'if (isMade && (isOptedOut ||',
      'if (isMade && !self.status?.deletion && (isOptedOut ||',
    ],
    ['109: sends one notice a day to whomever', '...(isClaimed ? [`in ${environment.metadata.namespace}`] : [])', ''],
  ]),
  ...inFile('src/systems/environments/environment-pulls.ts', [
    ['103: takes no label', "if (access.by === 'class' && pullRequestOf(observed) !== named) return false", ''],
    ['107: lets the token', '((await this.#refusalOfUrl(observed)) ?? found)', 'found'],
  ]),
  ...inFile('src/systems/environments/observe.ts', [
    ['100: Environments', "countedIn(environmentClass, selector, all, (name) => this.namespaces.get('', name))", 'all'],
  ]),
  ...inFile('src/notices/keep-page.ts', [
    [
      '106: tells',
      "if (!subject || verdict === 'forged')",
      "if (!subject) return page(410, noun, '')\n  if (verdict === 'forged')",
    ],
  ]),
  ...inFile('src/systems/environments/tell.ts', [
    [
      '108: uses up no notice',
      "const author = spec.owner === undefined ? '' : ",
      "const author = (true as boolean) ? '' : ",
    ],
    ['109: sends one notice a day to a mailbox', '.map(mailboxOf))]', ')]'],
    ['124: goes to at most', '.slice(0, maxOwners)', ''],
  ]),
  ...inFile('src/systems/environments/decision/assess.ts', [
    [
      '138: is not deleted after all',
      "if (!rules) return 'its class is gone or invalid'",
      'if (!rules) return undefined',
    ],
  ]),
  ...inFile('src/systems/environments/decision/stay.ts', [
    ['138: is not deleted after all', 'oldestAt(facts)) > now)', 'oldestAt(facts)) > Infinity)'],
    ['138: is not deleted after all', "facts.pull.state === 'open'\n", '(false as boolean)\n'],
  ]),
  ...inFile('src/systems/environments/deletion/delete.ts', [
    ['140: keeps an Application', 'schedules: request.schedules ?? [] }', 'schedules: [] }'],
    ['141: keeps an Application', '{ subject, uid, resourceVersion }', '{ subject, uid }'],
  ]),
  ...inFile('src/systems/environments/deletion/tools.ts', [['99: the mark', 'return isHere && ', 'return ']]),
  ...inFile('src/admission/environment-admission.ts', [
    ['129: refuse', '({ status }) => status?.owner === owner)\n  if', '() => true)\n  if'],
  ]),
  ...inFile('src/systems/environments/decision/limits.ts', [
    ['100: Environments', "findCondition(status?.conditions, 'Ready')?.status !== 'True'", '(false as boolean)'],
    ['101: an Environment', 'annotations?.[annotation] ?? claimedOwner(environment) ?? status?.owner', 'status?.owner'],
  ]),
  ...inFile('src/forges/pull-access.ts', [
    ['102: uses the token', "(type === 'forgejo' ? 'gitea' : type) === address.type &&", ''],
    ['102: uses the token', '!/%(?:2f|5c|2e)/i.test(address.repository) &&', ''],
  ]),
  ...inFile('src/systems/activator/cluster/sleep-rules.ts', [
    ['105: an Environment', 'if (isSelected === false && ', 'if ((false as boolean) && '],
  ]),
  ...inFile('src/apis/awake-hours.ts', [['104: hours', 'if (text.length > maxLength) return undefined', '']]),
  ...inFile('src/systems/activator/model/downscaler.ts', [
    ['104: hours', 'if (text.length > maxLength) return undefined', ''],
  ]),
  ...inFile('src/systems/promoter/strategies/verify.ts', [
    [
      '72: an answer that is no result',
      'return `Prometheus ${url} did not answer in JSON`',
      'JSON.parse(String(body))',
    ],
  ]),
  ...inFile('src/systems/savings/decision/accrue.ts', [
    ['131: who names another owner', 'count < maxRowsOfNamespace', 'count < 1e9'],
  ]),
  ...inFile('src/systems/savings/decision/released.ts', [
    ['131: saves nothing', '<= limit) ? amounts : nothing', '<= limit) ? amounts : amounts'],
  ]),
  ...inFile('src/systems/savings/decision/letters.ts', [
    ['131: goes to at most 20 mailboxes', '.slice(0, maxMailboxes)', ''],
    [
      '131: is one per mailbox',
      'Map.groupBy(allowed, ({ address }) => mailboxOf(address))',
      'Map.groupBy(allowed, ({ address }) => address)',
    ],
  ]),
]
