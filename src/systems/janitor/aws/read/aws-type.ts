import type { AwsTypeName } from '../../../../apis/cleanup-policy.ts'
import { parseTime } from '../../../../kube/time.ts'
import type { Resource, Use } from '../../model/resource.ts'
import type { Evidence } from './evidence.ts'
import type { AwsSession } from './session.ts'

/** A cloud resource in a form that all types share. */
export interface AwsResource {
  readonly id: string
  /** Unique over time: a later resource with the same id has another uid. */
  readonly uid: string
  readonly createdAt?: number | undefined
  readonly tags: Readonly<Record<string, string>>
  /** The description that AWS returned. */
  readonly raw: unknown
  /** Properties under Swabbie's names, in addition to the raw fields. */
  readonly facts?: Readonly<Record<string, unknown>>
  readonly group?: string | undefined
  readonly shield?: Resource['shield']
}

/** A type of cloud resource. The cleanup cycles depend on this interface only, not on any type. */
export interface AwsType {
  readonly name: AwsTypeName
  /** All resources of the type; throws when the listing may be incomplete. */
  list(session: AwsSession): Promise<readonly AwsResource[]>
  /** The current state of one resource; undefined when it does not exist. */
  read(session: AwsSession, id: string): Promise<AwsResource | undefined>
  /** Reads the evidence once, and returns the use of each resource. Throws when use cannot be determined. */
  detect(evidence: Evidence): Promise<(resource: AwsResource) => Use>
  remove(session: AwsSession, resource: AwsResource, options: { readonly force: boolean }): Promise<void>
  /** Sets a tag, or removes it. Absent for types without tags: their opt-outs are not mirrored. */
  tag?(
    session: AwsSession,
    resource: AwsResource,
    tag: { readonly key: string; readonly value: string | undefined },
  ): Promise<void>
  /** Error names by which AWS reports that the resource does not exist. */
  readonly absent: readonly string[]
}

/** `[{Key, Value}]` as a record. */
export function tagsOf(
  tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries((tags ?? []).flatMap(({ Key, Value }) => (Key === undefined ? [] : [[Key, Value ?? '']])))
}

/** Shields resources that a backup plan or lifecycle policy manages: deleting one would make the backups incomplete. */
export function backupShield(tags: Readonly<Record<string, string>>): Resource['shield'] {
  const mark = Object.keys(tags).find((key) => key.startsWith('aws:dlm:') || key.startsWith('aws:backup:'))
  return mark === undefined
    ? undefined
    : { because: 'shielded', detail: `the backup plan in its tag ${mark} manages it` }
}

/** The application in a name such as `web-staging-v003`: `web`. */
export function applicationOf(name: string | undefined): string | undefined {
  return name === undefined ? undefined : name.split('-', 1)[0] || undefined
}

/** A date of the SDK in epoch milliseconds. */
export function timeOf(date: { getTime(): number } | string | undefined): number | undefined {
  if (date === undefined) return undefined
  if (typeof date !== 'string') return date.getTime()
  const [, text] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/.exec(date) ?? []
  return text === undefined ? undefined : parseTime(`${text}Z`)
}
