import { dateText, oneLine, reasonsOf, subjectOf, type Notice } from './notice.ts'

/** The plain part of a mail. */
export function noticeText(notice: Notice): string {
  const { kind, items, policy, docsUrl, timeZone } = notice
  const lines = [
    subjectOf(notice),
    '',
    kind === 'reminder'
      ? 'You have been told of these resources before. They are still marked for cleanup.'
      : 'Nobody seems to need these resources any more. They are marked for cleanup.',
    'Do nothing, and they will be deleted. To keep one, open its link and confirm.',
    '',
  ]
  for (const item of items) {
    lines.push(
      `* ${oneLine(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)} (${oneLine(item.place)})`,
      `  Deleted from: ${dateText(item.deletionAt, timeZone)}`,
      ...reasonsOf(item).map((reason) => `  ${oneLine(reason)}`),
      `  Keep it: ${item.optOutUrl}`,
      ...(item.resourceUrl ? [`  Look at it: ${item.resourceUrl}`] : []),
      '',
    )
  }
  lines.push(`Sent by Sojourn for the cleanup policy "${oneLine(policy)}".`)
  if (docsUrl) lines.push(`More about this policy: ${docsUrl}`)
  return `${lines.join('\n')}\n`
}
