import { cleanupWords, dateText, introOf, oneLine, reasonsOf, subjectOf, type Notice } from './notice.ts'

/** The plain-text part of a mail. */
export function noticeText(notice: Notice): string {
  const { items, policy, docsUrl, timeZone, listUrl, isDigest, words = cleanupWords } = notice
  const { what, unless } = introOf(notice)
  const lines = [
    subjectOf(notice),
    '',
    what,
    `${unless} ${isDigest && listUrl ? 'Open the full list to keep some or all of them.' : 'To keep a resource, open its link and confirm, or run its command.'}`,
    ...(listUrl && items.length > 1 ? [`Keep all of these: ${listUrl}`] : []),
    '',
  ]
  for (const item of items) {
    if (isDigest) {
      lines.push(
        `* ${oneLine(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)}: ${dateText(item.deletionAt, timeZone)}`,
        ...(listUrl ? [] : [`  ${words.keep}: ${oneLine(item.keepCommand)}`]),
      )
      continue
    }
    lines.push(
      `* ${oneLine(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)} (${oneLine(item.about ? `${item.place}, ${item.about}` : item.place)})`,
      `  Deleted from: ${dateText(item.deletionAt, timeZone)}`,
      ...reasonsOf(item).map((reason) => `  ${oneLine(reason)}`),
      `  ${words.keep}: ${item.optOutUrl ?? oneLine(item.keepCommand)}`,
      ...(item.resourceUrl ? [`  View it: ${item.resourceUrl}`] : []),
      '',
    )
  }
  lines.push(`Sent by Sojourn for ${words.rule} "${oneLine(policy)}".`)
  if (docsUrl) lines.push(`More about it: ${docsUrl}`)
  return `${lines.join('\n')}\n`
}
