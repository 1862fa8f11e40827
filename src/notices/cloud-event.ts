import { formatTime } from '../kube/time.ts'
import { cleanupWords, type Notice } from './notice.ts'

/** A notice as a CloudEvent 1.0 in its JSON form. */
export function noticeCloudEvent(notice: Notice, now: number): Record<string, unknown> {
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
