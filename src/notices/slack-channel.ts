import type { Channel } from './notice.ts'
import { post } from './post.ts'
import { slackMessages } from './slack.ts'

/** Posts to an incoming webhook of Slack. */
export function slackChannel(
  name: string,
  users: Readonly<Record<string, string>>,
  url: () => Promise<string>,
): Channel {
  return {
    name,
    reaches: 'people',
    async send(notice, signal) {
      const target = await url()
      for (const message of slackMessages(notice, users))
        await post(target, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(message), signal })
      return { accepted: [`slack:${name}`], rejected: [] }
    },
  }
}
