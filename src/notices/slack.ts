import type { Http } from '../runtime/http/http.ts'
import {
  cleanupWords,
  dateText,
  howToKeep,
  oneLine,
  reasonsOf,
  subjectOf,
  type Channel,
  type Notice,
  type NoticeItem,
} from './notice.ts'
import { post } from './post.ts'

const maxItems = 20

/** Posts notices to a Slack incoming webhook. */
export function slackChannel(
  name: string,
  users: Readonly<Record<string, string>>,
  { url, http }: { readonly url: () => Promise<string>; readonly http: Http },
): Channel {
  return {
    name,
    audience: 'group',
    async send(notice, signal) {
      const target = await url()
      for (const message of slackMessages(notice, users))
        await post(http, target, {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(message),
          signal,
        })
      return { accepted: [`slack:${name}`], rejected: [] }
    },
  }
}

/** The messages of one notice: Slack takes at most fifty blocks each. */
export function slackMessages(
  notice: Notice,
  users: Readonly<Record<string, string>> = {},
): readonly Record<string, unknown>[] {
  const { policy, docsUrl, listUrl, isDigest, words = cleanupWords } = notice
  // The list has the others; where there is none, each has a line.
  const items = isDigest && listUrl ? notice.items.slice(0, maxItems) : notice.items
  const more = notice.items.length - items.length
  const who = notice.to
    .slice(0, maxItems)
    .map((address) => (users[address] ? `<@${escapeSlack(users[address])}>` : escapeSlack(address)))
    .join(', ')
  const sections = isDigest && !listUrl ? digestSections(notice) : items.map((item) => itemSection(item, notice))
  const list = listUrl && notice.items.length > 1 ? `<${escapeSlack(listUrl)}|Keep all of these>. ` : ''
  const footer = `${more > 0 ? `And ${more} more. ` : ''}${list}Sent for ${words.rule} ${escapeSlack(policy)}${docsUrl ? `, <${escapeSlack(docsUrl)}|about it>` : ''}`
  const messages: Record<string, unknown>[] = []
  for (let start = 0; start < sections.length; start += maxItems)
    messages.push({
      text: escapeSlack(subjectOf(notice)),
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: subjectOf(notice).slice(0, 150) } },
        ...(who ? [section(`For ${who}`)] : []),
        ...sections.slice(start, start + maxItems),
        { type: 'context', elements: [{ type: 'mrkdwn', text: footer }] },
      ],
    })
  return messages
}

function itemSection(item: NoticeItem, { timeZone, words = cleanupWords }: Notice): object {
  const text = [
    `*${nameIn(item)}* (${escapeSlack(item.about ? `${item.place}, ${item.about}` : item.place)})`,
    `Deleted from ${escapeSlack(dateText(item.deletionAt, timeZone))}`,
    ...reasonsOf(item).map(escapeSlack),
    ...(item.optOutUrl === undefined ? [`To keep it, ${escapeSlack(howToKeep(item))}`] : []),
  ]
  const button = { type: 'button', text: { type: 'plain_text', text: words.keep }, url: item.optOutUrl }
  return { ...section(text.join('\n').slice(0, 2900)), ...(item.optOutUrl === undefined ? {} : { accessory: button }) }
}

/** As many lines to a section as Slack takes. */
function digestSections({ items, timeZone }: Notice): readonly object[] {
  const texts: string[] = []
  for (const item of items) {
    const line = `${nameIn(item)}: ${escapeSlack(`${dateText(item.deletionAt, timeZone)}. To keep it, run: ${item.keepCommand}`)}`
    const last = texts.at(-1)
    if (last === undefined || last.length + line.length > 2900) texts.push(line.slice(0, 2900))
    else texts[texts.length - 1] = `${last}\n${line}`
  }
  return texts.map(section)
}

function section(text: string): object {
  return { type: 'section', text: { type: 'mrkdwn', text } }
}

function nameIn({ kind, namespace, name }: NoticeItem): string {
  return escapeSlack(`${kind} ${namespace ? `${namespace}/` : ''}${name}`)
}

/** Slack's three special characters, so that no name can mention everyone. */
export function escapeSlack(text: string): string {
  return oneLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
