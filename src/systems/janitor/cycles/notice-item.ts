import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { formatAge, parseTime } from '../../../kube/time.ts'
import { markOf } from '../decision/candidate.ts'
import { signedUrl } from '../../../notices/signed-links.ts'
import { optOutSubject } from '../opt-outs/links.ts'
import type { NoticeItem } from '../../../notices/notice.ts'
import { deletionDate } from '../policy/retention.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { WorkItem } from '../work/work.ts'

/** Links outlive the deletion date: owners read their mail late. */
export const linkGraceMs = 30 * 86_400_000

/** The date a notice sent now may print, never earlier than one printed before; undefined when the schedule has none. */
export function promisedDate(
  { status = {} }: CleanupCandidate,
  { policy, schedule }: Pick<WorkItem, 'policy' | 'schedule'>,
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
  // Rounded up to a whole second: stored dates have no fractions, and the printed date must have passed.
  return date === undefined ? undefined : Math.max(Math.ceil(date / 1000) * 1000, parseTime(status.promisedTime) ?? 0)
}

export interface NoticeContext {
  readonly key: string
  readonly publicUrl: string | undefined
  readonly otherPolicies: NoticeItem['otherPolicies']
  readonly clusterName: string
  readonly now: number
}

/** What a notice says about one marked resource. */
export function noticeItem(
  candidate: CleanupCandidate,
  { notices }: CompiledPolicy,
  { key, publicUrl, otherPolicies, clusterName, now }: NoticeContext,
): NoticeItem {
  const { metadata, spec, status = {} } = candidate
  const { resource } = spec
  const { provider, cluster, account, region, apiVersion, kind, namespace, name, uid } = resource
  const deletionAt = parseTime(status.projectedDeletionTime) ?? 0
  const generation = status.generation ?? 1
  const base = notices.optOutBaseUrl || publicUrl
  const expires = Math.floor((deletionAt + linkGraceMs) / 1000)
  return {
    candidate: metadata.name,
    generation,
    kind,
    namespace,
    name,
    place: provider === 'aws' ? `${account} ${region}` : `cluster ${cluster || clusterName}`,
    about: aboutOf(candidate, now),
    reasons: (status.summaries ?? []).map(({ description }) => description),
    deletionAt,
    optOutUrl: base
      ? signedUrl(base, key, { ...optOutSubject(metadata.name, resource), generation, expires })
      : undefined,
    keepCommand:
      provider === 'kubernetes' && !cluster
        ? `sojourn opt-out ${inShell(`${kind.toLowerCase()}/${name}`)}${namespace ? ` -n ${namespace}` : ''}`
        : `kubectl patch cleanupcandidate ${metadata.name} --type=merge -p '{"spec":{"hold":true}}'`,
    resourceUrl: resourceUrlOf(notices.resourceUrl, candidate),
    otherPolicies,
    toldAt: markOf(candidate).lastNoticeAt,
    ...(provider === 'kubernetes' && !cluster
      ? { object: { apiVersion, kind, name, uid, ...(namespace ? { namespace } : {}) } }
      : {}),
  }
}

/** An argument as a shell reads it: names of Roles and their bindings may hold any character. */
function inShell(argument: string): string {
  return /^[\w./:-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`
}

/** `web-data, 100 GiB, about 8.00 USD a month, 120d old`: what the id of a cloud resource does not tell. */
export function aboutOf({ spec, status = {} }: CleanupCandidate, now: number): string | undefined {
  if (spec.resource.provider !== 'aws') return undefined
  const { about } = status
  const at = parseTime(status.createdAt)
  const parts = [...(about ? [about] : []), ...(at === undefined ? [] : [`${formatAge(now - at)} old`])]
  return parts.length > 0 ? parts.join(', ') : undefined
}

/** Fills in `{{name}}` and the other placeholders; a template without any gets the name appended. */
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
