/** The HTML part of a mail, as it was sent. */
export function mailPage(raw: string): string {
  const parts = raw.replaceAll('\r\n', '\n').split(/^--.*$/m)
  const html = parts.find((part) => /^content-type: text\/html/im.test(part))
  if (html === undefined) throw new Error('the mail has no HTML part')
  const [, ...body] = html.trim().split('\n\n')
  return fromQuotedPrintable(body.join('\n\n'))
}

/** The comment's Markdown, as far as it uses any, as a forge shows it. */
export function commentPage(markdown: string): string {
  const text = escaped(markdown.replaceAll(/^\[\/\/\]: .*$/gm, '').trim())
    .replaceAll(/\*\*(.+?)\*\*/g, '<b>$1</b>')
    .replaceAll(/`(.+?)`/g, '<code>$1</code>')
    .replaceAll(/\[(.+?)\]\((.+?)\)/g, '<a href="$2">$1</a>')
    .replaceAll(/^- (.*)$/gm, '• <a>$1</a>')
    .replaceAll('\n', '<br>')
  return framed(`<div class="by"><b>sojourn</b> commented</div><p>${text}</p>`)
}

function fromQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function framed(content: string): string {
  return `<!doctype html><meta charset="utf-8"><style>
    :root { color-scheme: light dark }
    body { margin: 0; padding: 16px; font: 15px/1.5 system-ui, sans-serif; background: light-dark(#fff, #0d1117); color: light-dark(#1f2328, #e6edf3) }
    main { border: 1px solid light-dark(#d1d9e0, #3d444d); border-radius: 8px; padding: 14px 18px }
    p { margin: 10px 0 0; overflow-wrap: anywhere }
    .by { opacity: .8; border-bottom: 1px solid light-dark(#d1d9e0, #3d444d); padding-bottom: 8px } a { color: light-dark(#0969da, #58a6ff) }
  </style><main>${content}</main>`
}
