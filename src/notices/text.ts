import { cleanupWords, dateText, oneLine, reasonsOf, subjectOf, type Notice } from './notice.ts'

/** The plain-text part of a mail. */
export function noticeText(notice: Notice): string {
  const { kind, items, policy, docsUrl, timeZone, words = cleanupWords } = notice
  const lines = [
    subjectOf(notice),
    '',
    kind === 'reminder' ? 'This is a reminder: these resources are still marked for deletion.' : words.intro,
    'They will be deleted from the dates below unless you act. To keep a resource, open its link and confirm, or run its command.',
    '',
  ]
  for (const item of items) {
    lines.push(
      `* ${oneLine(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)} (${oneLine(item.place)})`,
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
