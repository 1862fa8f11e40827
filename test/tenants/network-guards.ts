import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps tenants' URLs out of internal networks, and domains with their owners. */
export const networkGuards: readonly Guard[] = [
  ...inFile('src/runtime/http/outgoing.ts', [
    ['of tenants never reach', '...(isAllowed ? {} : { blockList: denied })', ''],
    [
      'of tenants never reach',
      'return secure({ ...wanted, socket } as typeof wanted, done)',
      'return secure(wanted, done)',
    ],
  ]),
  ...inFile('src/systems/activator/model/domain-rules.ts', [
    ['76: an older Service', 'if (isOthers(host) || wildcardsOver(host).some(isOthers)) return true', ''],
    ['77: a wildcard', 'if (covers(host, held) && isOthers(held)) return true', ';'],
    ['81: names inside the cluster', 'if (inside !== undefined && inside !== namespace) return false', ''],
  ]),
  ...inFile('src/systems/activator/proxy/http1/resolve-request.ts', [
    ['73: drops the forwarding fields', 'if (!head.hasForwarded || !context.isTrusted) {', 'if (!head.hasForwarded) {'],
  ]),
  ...inFile('src/systems/janitor/policy/owner.ts', [
    [
      'never from a text with control characters',
      '/\\p{Cc}/u.test(text.trim()) ? [] : addressesIn(text)',
      'addressesIn(text)',
    ],
  ]),
]
