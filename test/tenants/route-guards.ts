import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps callers of routes, and holders of links, from what is not theirs. */
export const routeGuards: readonly Guard[] = [
  ...inFile('src/app/dashboard/cascade-route.ts', [
    ['23: the preview of a cascade', 'clientAs(user)', "clientAs({ name: 'system:sojourn', groups: [] })"],
  ]),
  ...inFile('src/app/dashboard/reads.ts', [
    ['110: the dashboard reads', '.slice(1).map(percentDecoded)', '.slice(1)'],
    ['110: the dashboard reads', "resource !== 'watch' && ", ''],
  ]),
  ...inFile('src/systems/promoter/http/routes.ts', [
    ['25: a hint without the key', '|| !isProved) return', '|| (keys && !isProved)) return'],
  ]),
  ...inFile('src/app/core/promoter-route.ts', [
    ['25: a preview does not tell', 'if (isForUsers && !isEntitled)', 'if (isForUsers && !user)'],
  ]),
  ...inFile('src/systems/promoter/http/signature.ts', [
    ['55: a signed approval', '> maxSkewSeconds)', '> 1e9)'],
    [
      '55: a signed approval',
      'method.toUpperCase(), sortedQuery(path),',
      'method.toUpperCase(), sortedQuery(path).slice(0, 0),',
    ],
    ['55: a signed approval', 'return known.signature === signature', 'return true'],
  ]),
  ...inFile('src/systems/janitor/routes/opt-out-page.ts', [
    ['58: has a link', 'return isOutdated ? ', 'return (false as boolean) ? '],
    [
      '58: tells without a valid link',
      'if (refused || !candidate) return refused ?? invalidLink',
      'if (!candidate) return gone()\n  if (refused) return refused',
    ],
  ]),
  ...inFile('src/systems/activator/proxy/wire/host.ts', [
    ['79: ', "domainToASCII(text.replace(/:[0-9]+$/, ''))", "text.replace(/:[0-9]+$/, '')"],
  ]),
  ...inFile('src/systems/collector/bonds/bond-controller.ts', [
    ['37: a Bond deletes nothing', 'if (refusal !== undefined) {', 'if (false as boolean) {'],
  ]),
]
