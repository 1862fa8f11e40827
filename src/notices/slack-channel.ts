import type { Channel } from './notice.ts'
import { post } from './post.ts'
import { slackMessages } from './slack.ts'

/** Posts notices to a Slack incoming webhook. */
export function slackChannel(
  name: string,
  users: Readonly<Record<string, string>>,
  url: () => Promise<string>,
): Channel {
  return {
    name,
    audience: 'group',
    async send(notice, signal) {
      const target = await url()
      for (const message of slackMessages(notice, users))
        await post(target, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(message), signal })
      return { accepted: [`slack:${name}`], rejected: [] }
    },
  }
}
