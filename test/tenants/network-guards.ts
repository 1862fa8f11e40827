import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps tenants' URLs out of internal networks, and domains with their owners. */
export const networkGuards: readonly Guard[] = [
  ...inFile('src/systems/activator/model/annotation-reader.ts', [
    ['146: a tenant with very many domains', 'named.slice(0, maxDomains)', 'named.slice(0, 10 * maxDomains)'],
  ]),
  ...inFile('src/systems/activator/cluster/domain-store.ts', [
    ['146: a tenant with very many domains', 'if (count > maxClaims) continue', ''],
  ]),
  ...inFile('src/client/network-transport.ts', [
    [
      '141: reads no more',
      'as AsyncIterable<Buffer>, limit)',
      'as AsyncIterable<Buffer>, { ...limit, maxBytes: Infinity })',
    ],
  ]),
  ...inFile('src/runtime/http/outgoing.ts', [
    ['68: NAT64', ' 64:ff9b::/96', ''],
    ['69: the API server is not reached, though', 'this.#always.check(...given) || ', ''],
    ['64: instance metadata', "const linkLocal = ['169.254.0.0/16', 'fe80::/10']", "const linkLocal = ['fe80::/10']"],
    [
      '71: a connection',
      'this.#allowedNames.has(nameOf(host)) ||',
      '[...this.#allowedNames].some((name) => name.endsWith(`:${port}`)) ||',
    ],
    ['70: ssh', '...(isAllowed ? {} : { blockList: denied })', ''],
    ['70: mail', '...(isAllowed ? {} : { blockList: denied })', ''],
  ]),
  ...inFile('src/app/core/networks.ts', [
    ['69: the API server', 'for (const address of denied)', 'for (const address of [] as string[])'],
  ]),
  ...inFile('src/systems/janitor/cycles/compose-notices.ts', [
    ['124: is one per address', "(owners.length > 0 ? owners : [''])", '[owners.join()]'],
    ['124: is one per address', 'owner: address.toLowerCase(),', 'owner: address,'],
  ]),
  ...inFile('src/systems/janitor/cycles/notify-cycle.ts', [
    ['124: confirms a mark', 'if (telling.left > 0) return', ''],
  ]),
  ...inFile('src/systems/janitor/policy/owner.ts', [['124: the addresses', 'found.slice(0, maxOwners)', 'found']]),
  ...inFile('src/notices/addresses.ts', [['124: the addresses', '(each) => each.toLowerCase()', '(each) => each']]),
  ...inFile('src/systems/savings/decision/letters.ts', [
    ['124: goes to at most five', '.slice(0, maxOwners)', ''],
    ['124: is one per address', 'ownersIn(owner.toLowerCase())', 'ownersIn(owner)'],
  ]),
  ...inFile('src/systems/janitor/cycles/notice-item.ts', [
    ['125: a command', '/^[\\w./:-]+$/.test(argument) ? argument : ', '(true as boolean) ? argument : '],
  ]),
  ...inFile('src/systems/cleaner/tell.ts', [['124: cannot use up', '.slice(0, maxOwners)', '']]),
  ...inFile('src/notices/open-channel.ts', [
    ['124: sends an address', "[limit('mailboxOfNamespace', namespace, mailbox)]", '[]'],
    ['124: sends no more', "[limit('mailboxOfNamespace', namespace, mailbox)]", '[]'],
    ['124: posts to a chat', "(await limits.take([limit('namespace', namespace)]))", 'undefined'],
    ['126: sends an address', "[...own, limit('mailbox', mailbox)]", 'own'],
    ['126: is at most 20', 'const mailbox = mailboxOf(address)', 'const mailbox = address'],
  ]),
  ...inFile('src/runtime/sharing/hourly-limits.ts', [
    ['126: sends no more after a restart', 'if (heavy.length > 0) await this.#store(heavy, now)', ''],
    ['126: sends no more after a restart', 'if (now - this.#readAt >= rereadMs) await this.#read(now)', ''],
  ]),
  ...inFile('src/systems/janitor/cycles/notify-cycle.ts', [
    ['126: of a best-effort', 'if (error instanceof TooManyNotices) return { outcomes: [], retryMs: limitedMs }', ''],
  ]),
  ...inFile('src/systems/janitor/policy/owner.ts', [['126: is one per address', "?? '', ...told]", "?? '']"]]),
  ...inFile('src/systems/janitor/cycles/compose-notices.ts', [
    ['127: is one digest', 'const isDigest = items', 'const isDigest = listUrl !== undefined && items'],
  ]),
  ...inFile('src/systems/janitor/aws/read/session.ts', [
    ['64: the endpoint', '    requestHandler: network.agents,\n', ''],
  ]),
  ...inFile('src/notices/open-channel.ts', [
    ['27: a notice holds', 'channel.send(redacted(notice), signal)', 'channel.send(notice, signal)'],
    ['27: a notice holds', '{ about: shown(item.about) }', '{}'],
    ['27: a notice holds', 'place: shown(item.place),', ''],
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
  ...inFile('src/notices/addresses.ts', [
    ['never from a text with control characters', '/\\p{Cc}/u.test(text.trim()) ? [] : ', ''],
  ]),
]
