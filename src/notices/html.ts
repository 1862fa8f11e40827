import { cleanupWords, dateText, introOf, reasonsOf, subjectOf, type Notice, type NoticeItem } from './notice.ts'

/** The HTML part of a mail: one column, inline styles, no external content. */
export function noticeHtml(notice: Notice): string {
  const { kind, items, policy, docsUrl, part, parts, isDigest, listUrl, words = cleanupWords } = notice
  const { what, unless } = introOf(notice)
  const hasLinks = items.some(({ optOutUrl }) => optOutUrl !== undefined)
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light"><title>${escapeHtml(subjectOf(notice))}</title></head>
<body style="margin:0;padding:0;background:#f3f4f6;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1f2937">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f3f4f6"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="600" cellpadding="0" cellspacing="0" style="width:100%;max-width:600px;background:#ffffff;border:1px solid #e5e7eb;border-radius:8px">
<tr><td style="padding:28px 24px 8px">
<p style="margin:0 0 6px;font-size:12px;letter-spacing:.06em;text-transform:uppercase;color:#6b7280">${kind === 'reminder' ? 'Reminder' : words.title}${parts > 1 ? ` &middot; ${part} of ${parts}` : ''}</p>
<h1 style="margin:0;font-size:21px;line-height:1.35;font-weight:600">${escapeHtml(
    subjectOf({ ...notice, cluster: undefined })
      .replace(/^Reminder: /, '')
      .replace(/ \(\d+ of \d+\)$/, ''),
  )}</h1>
<p style="margin:14px 0 0;font-size:15px;line-height:1.55">${what} <strong>${unless}</strong> ${isDigest && listUrl ? 'Open the full list to keep some or all of them.' : hasLinks ? `To keep a resource, choose <em>${words.keep}</em> and confirm.` : 'To keep a resource, run its command.'}</p>
${listRow(notice)}</td></tr>
${isDigest ? digestRows(notice) : items.map((item) => itemRow(item, notice)).join('\n')}
<tr><td style="padding:24px 0 0;font-size:0;line-height:0">&nbsp;</td></tr>
<tr><td style="padding:20px 24px 26px;border-top:1px solid #e5e7eb">
<p style="margin:0;font-size:13px;line-height:1.55;color:#6b7280">Sent by Sojourn for ${words.rule} <strong>${escapeHtml(policy)}</strong>.${docsUrl ? ` <a href="${escapeHtml(safeUrl(docsUrl))}" style="color:#1d4ed8">About it</a>.` : ''}${hasLinks ? ' Do not forward this mail: everyone who has a link can keep the resource it names.' : ''}</p>
</td></tr>
</table>
</td></tr></table>
</body>
</html>
`
}

function itemRow(item: NoticeItem, { timeZone, words = cleanupWords }: Notice): string {
  const name = `${item.namespace ? `${item.namespace}/` : ''}${item.name}`
  const shown = escapeHtml(name)
  const linked = item.resourceUrl
    ? `<a href="${escapeHtml(safeUrl(item.resourceUrl))}" style="color:#1f2937">${shown}</a>`
    : shown
  return `<tr><td style="padding:16px 24px 0">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="border:1px solid #e5e7eb;border-radius:6px"><tr>
<td style="padding:14px 16px;vertical-align:top">
<p style="margin:0;font-size:12px;line-height:1.45;color:#6b7280">${escapeHtml(item.kind)} &middot; ${escapeHtml(item.place)}${item.about ? ` &middot; ${escapeHtml(item.about)}` : ''}</p>
<p style="margin:2px 0 6px;font-size:16px;line-height:1.35;font-weight:600;word-break:break-word">${linked}</p>
<p style="margin:0 0 4px;font-size:14px;line-height:1.45;color:#b91c1c"><strong>Deleted from ${escapeHtml(dateText(item.deletionAt, timeZone))}</strong></p>
${reasonsOf(item)
  .map((reason) => `<p style="margin:0;font-size:14px;line-height:1.45;color:#4b5563">${escapeHtml(reason)}</p>`)
  .join('\n')}
${keepRow(item, words.keep)}
</td></tr></table>
</td></tr>`
}

/** The button to the list of everything of this owner. */
function listRow({ listUrl, items }: Notice): string {
  if (listUrl === undefined || items.length < 2) return ''
  return `<p style="margin:14px 0 2px"><a href="${escapeHtml(safeUrl(listUrl))}" style="display:inline-block;padding:9px 18px;border:1px solid #1d4ed8;color:#1d4ed8;font-size:14px;font-weight:600;text-decoration:none;border-radius:6px">Keep all of these</a></p>`
}

function digestRows({ items, timeZone, listUrl }: Notice): string {
  const rows = items.map(
    (item) =>
      `<tr><td style="padding:4px 8px 4px 0;word-break:break-word">${escapeHtml(`${item.kind} ${item.namespace ? `${item.namespace}/` : ''}${item.name}`)}${listUrl ? '' : `<br><code>${escapeHtml(item.keepCommand)}</code>`}</td><td style="padding:4px 0;white-space:nowrap;color:#6b7280">${escapeHtml(dateText(item.deletionAt, timeZone).replace(/ \(.*/, ''))}</td></tr>`,
  )
  return `<tr><td style="padding:16px 24px 0"><table role="presentation" width="100%" style="font-size:13px;line-height:1.4">${rows.join('\n')}</table></td></tr>`
}

function keepRow({ optOutUrl, keepCommand }: NoticeItem, keep: string): string {
  if (optOutUrl === undefined)
    return `<p style="margin:14px 0 2px;font-size:14px;line-height:1.45">To keep it, run:<br><code style="word-break:break-word">${escapeHtml(keepCommand)}</code></p>`
  return `<p style="margin:14px 0 2px"><a href="${escapeHtml(safeUrl(optOutUrl))}" style="display:inline-block;padding:9px 18px;background:#1d4ed8;color:#ffffff;font-size:14px;font-weight:600;text-decoration:none;border-radius:6px">${keep}</a></p>`
}

/** Escapes text for HTML content and attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Returns `#` for anything but http and https addresses. */
export function safeUrl(url: string): string {
  return /^https?:\/\//i.test(url) ? url : '#'
}
