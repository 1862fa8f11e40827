import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps users of the dashboard from being anyone but themselves. */
export const dashboardGuards: readonly Guard[] = [
  ...inFile('src/app/dashboard/forecast-route.ts', [
    ['143: reads no cloud account', 'kind === providerAccount.kind', "kind === ''"],
    ['143: connects to no cluster', 'allowOutgoing: config.allowOutgoing ?? []', "allowOutgoing: ['127.0.0.0/8']"],
  ]),
  ...inFile('src/app/dashboard/actions.ts', [['142: tells of ten', '.take(10)', '.take(1e9)']]),
  ...inFile('src/app/core/route-table.ts', [
    [
      '140: answers the next request',
      "await readBody(request, maxBodyBytes).catch(ignoring('RequestEntityTooLarge'))",
      'undefined as Uint8Array | undefined',
    ],
  ]),
  ...inFile('src/app/dashboard/identity.ts', [
    ['are believed from trusted proxies only', 'if (!isTrusted(remoteAddress)) return undefined', ''],
    ['a user header of the client before its own', 'users.length > 1 || ', ''],
    ['a groups header of the client before its own', ' || groups.length > 1', ''],
    ['a reserved group', 'if (reserved !== undefined) return `', "if (reserved === '') return `"],
  ]),
  ...inFile('src/app/dashboard/cluster-dashboard.ts', [
    [
      'ends the session where the proxy is passed by, names another user, or none',
      ' && named.user === identity.user',
      '',
    ],
    ['takes the groups of each request, not those of the sign-in', '? named : undefined', '? identity : undefined'],
  ]),
  ...inFile('src/app/dashboard/turns.ts', [
    ['130: are two', 'if (this.#running.has(caller))', 'if (false as boolean)'],
    ['130: are two', '/^system:serviceaccount:[^:]+/.exec(name)?.[0] ?? name', 'name'],
  ]),
]
