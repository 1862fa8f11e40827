import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps tenants' URLs out of internal networks, and domains with their owners. */
export const networkGuards: readonly Guard[] = [
  ...inFile('src/runtime/http/outgoing.ts', [
    ['68: NAT64', ' 64:ff9b::/96', ''],
    ['64: instance metadata', "const linkLocal = ['169.254.0.0/16', 'fe80::/10']", "const linkLocal = ['fe80::/10']"],
    ['70: ssh', '...(isAllowed ? {} : { blockList: denied })', ''],
    ['70: mail', '...(isAllowed ? {} : { blockList: denied })', ''],
  ]),
  ...inFile('src/app/core/networks.ts', [
    ['69: the API server', 'for (const address of denied)', 'for (const address of [] as string[])'],
  ]),
  ...inFile('src/systems/janitor/aws/read/session.ts', [
    ['64: the endpoint', '    requestHandler: network.agents,\n', ''],
  ]),
  ...inFile('src/notices/open-channel.ts', [
    ['27: a notice holds', 'channel.send(redacted(notice), signal)', 'channel.send(notice, signal)'],
  ]),
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
