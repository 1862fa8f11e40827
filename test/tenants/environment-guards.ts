import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps environments, their classes and their sleep within the rights of tenants. */
export const environmentGuards: readonly Guard[] = [
  ...inFile('src/systems/environments/controller.ts', [
    [
      '98: hooks',
      'actor: confinedActor(client, name),',
      'actor: { client, refusalOf: () => Promise.resolve(undefined) },',
    ],
    ['103: takes no label', "if (access.by === 'class' && pullRequestOf(observed) !== named) return false", ''],
    [
      '100: Environments',
      "countedIn(environmentClass, selector, all, (name) => this.#namespaces.get('', name))",
      'all',
    ],
  ]),
  ...inFile('src/notices/keep-page.ts', [
    [
      '106: tells',
      "if (!subject || verdict === 'forged')",
      "if (!subject) return page(410, noun, '')\n  if (verdict === 'forged')",
    ],
  ]),
  ...inFile('src/systems/environments/deletion/tools.ts', [['99: the mark', 'return isHere && ', 'return ']]),
  ...inFile('src/systems/environments/decision/limits.ts', [
    ['100: Environments', "findCondition(status?.conditions, 'Ready')?.status !== 'True'", '(false as boolean)'],
    ['101: an Environment', 'annotations?.[annotation] ?? claimedOwner(environment) ?? status?.owner', 'status?.owner'],
  ]),
  ...inFile('src/systems/environments/pulls/pull-address.ts', [
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
]
