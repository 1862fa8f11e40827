import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { parseTime } from '../../../kube/time.ts'
import { markOf } from '../decision/candidate.ts'
import { optOutUrl } from '../opt-outs/links.ts'
import type { NoticeItem } from '../../../notices/notice.ts'
import { deletionDate } from '../policy/retention.ts'
import type { Work } from '../work/work.ts'

/** Links outlive the date they are about: owners read their mail late. */
const linkGraceMs = 30 * 86_400_000

/** The date a notice sent now may print; never earlier than one it may have printed already. Undefined: there is none. */
export function promised(
  { status = {} }: CleanupCandidate,
  { policy, schedule }: Pick<Work, 'policy' | 'schedule'>,
  now: number,
): number | undefined {
  const { retentionSeconds, owner } = status
  const retention =
    retentionSeconds !== undefined
      ? { ms: retentionSeconds * 1000 }
      : owner
        ? policy.retention
        : policy.retentionWithoutOwner
  const date = deletionDate(retention, { from: now, schedule })
  // A whole second later: the stored date has no fractions, and what was printed must have passed.
  return date === undefined ? undefined : Math.max(Math.ceil(date / 1000) * 1000, parseTime(status.promisedTime) ?? 0)
}

/** What a notice says of a marked resource. */
export function itemOf(
  candidate: CleanupCandidate,
  { policy }: Pick<Work, 'policy'>,
  {
    key,
    publicUrl,
    otherPolicies,
  }: { readonly key: string; readonly publicUrl: string; readonly otherPolicies: readonly string[] },
): NoticeItem {
  const { metadata, spec, status = {} } = candidate
  const { resource } = spec
  const { provider, cluster, account, region, apiVersion, kind, namespace, name, uid } = resource
  const leavesAt = parseTime(status.projectedDeletionTime) ?? 0
  const generation = status.generation ?? 1
  const expires = Math.floor((leavesAt + linkGraceMs) / 1000)
  return {
    candidate: metadata.name,
    generation,
    kind,
    namespace,
    name,
    place: provider === 'aws' ? `${account} ${region}` : cluster ? `cluster ${cluster}` : 'this cluster',
    reasons: (status.summaries ?? []).map(({ description }) => description),
    leavesAt,
    optOutUrl: optOutUrl(policy.notices.optOutBaseUrl || publicUrl, key, {
      candidate: metadata.name,
      resource,
      generation,
      expires,
    }),
    resourceUrl: resourceUrlOf(policy.notices.resourceUrl, candidate),
    otherPolicies,
    toldAt: markOf(candidate).lastNoticeAt,
    ...(provider === 'kubernetes' && !cluster
      ? { object: { apiVersion, kind, name, uid, ...(namespace ? { namespace } : {}) } }
      : {}),
  }
}

/** Fills `{{name}}` and the like in; an address without any gets the name appended. */
function resourceUrlOf(template: string, { spec, status }: CleanupCandidate): string {
  if (!template) return ''
  const { provider, cluster = '', account = '', region = '', kind, namespace = '', name } = spec.resource
  const values: Readonly<Record<string, string>> = {
    name,
    resourceId: name,
    kind,
    namespace,
    cluster,
    account,
    env: account,
    region,
    cloudProvider: provider,
    application: status?.group ?? '',
  }
  if (!template.includes('{{')) return `${template.replace(/\/$/, '')}/${encodeURIComponent(name)}`
  return template.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, key: string) => encodeURIComponent(values[key] ?? ''))
}
