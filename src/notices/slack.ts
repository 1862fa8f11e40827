import { cleanupWords, dateText, howToKeep, oneLine, reasonsOf, subjectOf, type Notice } from './notice.ts'

const maxItems = 20

/** The messages of one notice: Slack takes at most fifty blocks each. */
export function slackMessages(
  notice: Notice,
  users: Readonly<Record<string, string>> = {},
): readonly Record<string, unknown>[] {
  const { policy, timeZone, docsUrl, listUrl, isDigest, words = cleanupWords } = notice
  const items = isDigest ? notice.items.slice(0, maxItems) : notice.items
  const more = notice.items.length - items.length
  const who = notice.to
    .map((address) => (users[address] ? `<@${escapeSlack(users[address])}>` : escapeSlack(address)))
    .join(', ')
  const messages: Record<string, unknown>[] = []
  for (let start = 0; start < items.length; start += maxItems) {
    const blocks = items.slice(start, start + maxItems).map((item) => ({
      type: 'section',
      text: {
        type: 'mrkdwn',
        text: [
          `*${escapeSlack(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)}* (${escapeSlack(item.about ? `${item.place}, ${item.about}` : item.place)})`,
          `Deleted from ${escapeSlack(dateText(item.deletionAt, timeZone))}`,
          ...reasonsOf(item).map(escapeSlack),
          ...(item.optOutUrl === undefined ? [`To keep it, ${escapeSlack(howToKeep(item))}`] : []),
        ]
          .join('\n')
          .slice(0, 2900),
      },
      ...(item.optOutUrl === undefined
        ? {}
        : { accessory: { type: 'button', text: { type: 'plain_text', text: words.keep }, url: item.optOutUrl } }),
    }))
    const list = listUrl && notice.items.length > 1 ? `<${escapeSlack(listUrl)}|Keep all of these>. ` : ''
    const footer = `${more > 0 ? `And ${more} more. ` : ''}${list}Sent for ${words.rule} ${escapeSlack(policy)}${docsUrl ? `, <${escapeSlack(docsUrl)}|about it>` : ''}`
    messages.push({
      text: escapeSlack(subjectOf(notice)),
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: subjectOf(notice).slice(0, 150) } },
        ...(who ? [{ type: 'section', text: { type: 'mrkdwn', text: `For ${who}` } }] : []),
        ...blocks,
        { type: 'context', elements: [{ type: 'mrkdwn', text: footer }] },
      ],
    })
  }
  return messages
}

/** Slack's three special characters, so that no name can mention everyone. */
export function escapeSlack(text: string): string {
  return oneLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
