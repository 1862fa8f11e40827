import { createHmac } from 'node:crypto'
import { formatTime } from '../kube/time.ts'
import type { ChannelSpec } from '../apis/notification-channel.ts'
import type { Http } from '../runtime/http/http.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { cleanupWords, type Channel, type Notice } from './notice.ts'
import { post } from './post.ts'

/** Posts notices as JSON or CloudEvents; with a key, signed over method, path, time and body. */
export function webhookChannel(
  name: string,
  { url, format = 'cloudevents' }: NonNullable<ChannelSpec['webhook']>,
  ports: { readonly clock: Clock; readonly http: Http; readonly key: () => Promise<string | undefined> },
): Channel {
  const { clock, http, key } = ports
  return {
    name,
    audience: 'group',
    async send(notice, signal) {
      const events = format === 'cloudevents'
      const body = JSON.stringify(events ? noticeCloudEvent(notice, clock.now()) : noticeJson(notice))
      const secret = await key()
      const timestamp = String(Math.floor(clock.now() / 1000))
      const signed = secret && signatureOf(secret, { method: 'POST', path: new URL(url).pathname, timestamp, body })
      const headers = {
        'content-type': events ? 'application/cloudevents+json; charset=utf-8' : 'application/json',
        ...(signed ? { 'x-sojourn-timestamp': timestamp, 'x-sojourn-signature': `sha256=${signed}` } : {}),
      }
      await post(http, url, { headers, body, signal })
      return { accepted: [`webhook:${name}`], rejected: [] }
    },
  }
}

/** A notice as a CloudEvent 1.0 in its JSON form. */
function noticeCloudEvent(notice: Notice, now: number): Record<string, unknown> {
  const { component, eventType } = notice.words ?? cleanupWords
  return {
    specversion: '1.0',
    id: notice.messageId.slice(1, -1),
    source: `sojourn/${component}/${encodeURIComponent(notice.policy)}`,
    type: `${eventType}.${notice.kind}`,
    time: formatTime(now),
    datacontenttype: 'application/json',
    data: noticeJson(notice),
  }
}

/** A notice as plain JSON. */
export function noticeJson({ kind, policy, to, items, part, parts, docsUrl }: Notice): Record<string, unknown> {
  return {
    kind,
    policy,
    owners: to,
    part,
    parts,
    ...(docsUrl ? { docsUrl } : {}),
    resources: items.map(({ deletionAt, generation: _, object: __, otherPolicies, ...item }) => ({
      ...item,
      otherPolicies: otherPolicies.map(({ name }) => name),
      deletedFrom: formatTime(deletionAt),
    })),
  }
}

/** The signature by which a receiver verifies that a request is genuine and recent. */
export function signatureOf(
  secret: string,
  {
    method,
    path,
    timestamp,
    body,
  }: { readonly method: string; readonly path: string; readonly timestamp: string; readonly body: string },
): string {
  return createHmac('sha256', secret).update(`${method}\n${path}\n${timestamp}\n${body}`).digest('hex')
}
