import { dateText, oneLine, reasonsOf, subjectOf, type Notice } from './notice.ts'

/** The plain-text part of a mail. */
export function noticeText(notice: Notice): string {
  const { kind, items, policy, docsUrl, timeZone } = notice
  const lines = [
    subjectOf(notice),
    '',
    kind === 'reminder'
      ? 'This is a reminder: these resources are still marked for deletion.'
      : 'A cleanup policy found that these resources seem to be no longer needed, and marked them for deletion.',
    'They will be deleted from the dates below unless you act. To keep a resource, open its link and confirm, or run its command.',
    '',
  ]
  for (const item of items) {
    lines.push(
      `* ${oneLine(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)} (${oneLine(item.place)})`,
      `  Deleted from: ${dateText(item.deletionAt, timeZone)}`,
      ...reasonsOf(item).map((reason) => `  ${oneLine(reason)}`),
      `  Keep it: ${item.optOutUrl ?? oneLine(item.keepCommand)}`,
      ...(item.resourceUrl ? [`  View it: ${item.resourceUrl}`] : []),
      '',
    )
  }
  lines.push(`Sent by Sojourn for the cleanup policy "${oneLine(policy)}".`)
  if (docsUrl) lines.push(`More about this policy: ${docsUrl}`)
  return `${lines.join('\n')}\n`
}
