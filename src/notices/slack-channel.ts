import type { Http } from '../runtime/http/http.ts'
import type { Channel } from './notice.ts'
import { post } from './post.ts'
import { slackMessages } from './slack.ts'

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
