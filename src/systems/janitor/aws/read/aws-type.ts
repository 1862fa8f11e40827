import type { AwsTypeName } from '../../../../apis/cleanup-policy.ts'
import { parseTime } from '../../../../kube/time.ts'
import type { Resource, Use } from '../../model/resource.ts'
import type { Evidence } from './evidence.ts'
import type { AwsSession } from './session.ts'

/** What is known of a cloud resource, whatever its type calls it. */
export interface AwsResource {
  readonly id: string
  /** Differs from another one's under the same id. */
  readonly uid: string
  readonly createdAt?: number | undefined
  readonly tags: Readonly<Record<string, string>>
  /** As AWS describes it. */
  readonly raw: unknown
  /** In Swabbie's words, beside the raw fields. */
  readonly facts?: Readonly<Record<string, unknown>>
  readonly group?: string | undefined
  readonly shield?: Resource['shield']
}

/** A type of cloud resource. A new one is one more file; the lifecycle knows none of them. */
export interface AwsType {
  readonly name: AwsTypeName
  /** Everything there is, or a throw. */
  list(session: AwsSession): Promise<readonly AwsResource[]>
  /** One of them as it is now; undefined when it is gone. */
  read(session: AwsSession, id: string): Promise<AwsResource | undefined>
  /** Looks at who uses what once, then answers for each. Throws when that cannot be known. */
  detect(evidence: Evidence): Promise<(thing: AwsResource) => Use>
  remove(session: AwsSession, thing: AwsResource, options: { readonly force: boolean }): Promise<void>
  /** Writes a tag, or takes it away. Absent where AWS knows no tags: opt-outs are then kept by us alone. */
  tag?(
    session: AwsSession,
    thing: AwsResource,
    tag: { readonly key: string; readonly value: string | undefined },
  ): Promise<void>
  /** Names of errors that mean: it is not there. */
  readonly absent: readonly string[]
}

/** `[{Key, Value}]` as a plain record: normalised once, so that every rule sees the same. */
export function tagsOf(
  tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries((tags ?? []).flatMap(({ Key, Value }) => (Key === undefined ? [] : [[Key, Value ?? '']])))
}

/** Shields resources that a backup plan or lifecycle policy manages: deleting one would make the backups incomplete. */
export function backupShield(tags: Readonly<Record<string, string>>): Resource['shield'] {
  const mark = Object.keys(tags).find((key) => key.startsWith('aws:dlm:') || key.startsWith('aws:backup:'))
  return mark === undefined ? undefined : { because: 'shielded', detail: `it is kept by the plan of its tag ${mark}` }
}

/** The application of a name such as `web-staging-v003`. */
export function applicationOf(name: string | undefined): string | undefined {
  return name === undefined ? undefined : name.split('-', 1)[0] || undefined
}

/** Epoch milliseconds of what the SDK calls a date. */
export function timeOf(date: { getTime(): number } | string | undefined): number | undefined {
  if (date === undefined) return undefined
  if (typeof date !== 'string') return date.getTime()
  const [, text] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/.exec(date) ?? []
  return text === undefined ? undefined : parseTime(`${text}Z`)
}
