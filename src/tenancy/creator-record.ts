import type { KubeObject } from '../kube/object.ts'
import { deepEqual } from '../kube/patches/patch.ts'

/** Who last wrote the spec of an object. Admission writes both annotations and keeps everyone else from changing them. */
export const creatorAnnotation = 'sojourn.dev/creator'
/** The groups of that user, one per line. */
export const creatorGroupsAnnotation = 'sojourn.dev/creator-groups'

/** A user as the API server authenticated it. */
export interface Creator {
  readonly user: string
  readonly groups: readonly string[]
}

/** The creator that admission recorded on an object; undefined when there is no usable record. */
export function recordedCreator({ metadata: { annotations = {} } }: Pick<KubeObject, 'metadata'>): Creator | undefined {
  const user = annotations[creatorAnnotation]
  if (user === undefined || user === '') return undefined
  const creator = { user, groups: (annotations[creatorGroupsAnnotation] ?? '').split('\n').filter(Boolean) }
  return creatorFault(creator) === undefined ? creator : undefined
}

/** The object with this record, or with none. */
export function withCreator<T extends KubeObject>(object: T, creator: Creator | undefined): T {
  const { [creatorAnnotation]: _, [creatorGroupsAnnotation]: __, ...others } = object.metadata.annotations ?? {}
  const recorded = creator && {
    [creatorAnnotation]: creator.user,
    [creatorGroupsAnnotation]: creator.groups.join('\n'),
  }
  return { ...object, metadata: { ...object.metadata, annotations: { ...others, ...recorded } } }
}

/**
 * The object as admission records it: a new spec is its writer's, and a client that replaces the whole object need not know the record.
 * `writer` is undefined for Sojourn itself, which never counts as a creator.
 */
export function recordWriter<T extends KubeObject>(
  object: T,
  old: KubeObject | undefined,
  writer: Creator | undefined,
): T {
  if (!old || !deepEqual(old.spec, object.spec)) return withCreator(object, writer)
  return object.metadata.annotations?.[creatorAnnotation] === undefined
    ? withCreator(object, recordedCreator(old))
    : object
}

/** Whether two objects carry the same record. */
export function hasSameCreator(left: Pick<KubeObject, 'metadata'>, right: Pick<KubeObject, 'metadata'>): boolean {
  return [creatorAnnotation, creatorGroupsAnnotation].every(
    (name) => left.metadata.annotations?.[name] === right.metadata.annotations?.[name],
  )
}

/** Why a user cannot be recorded: a record must name one authenticated user, without ambiguity. */
export function creatorFault({ user, groups }: Creator): string | undefined {
  if (user === '' || user === 'system:anonymous') return 'an anonymous user cannot be the creator'
  if ([user, ...groups].some((name) => name.includes('\n'))) return 'user and group names must not contain a line break'
  if (Buffer.byteLength(user) > maxNameBytes || groups.some((group) => Buffer.byteLength(group) > maxNameBytes))
    return `user and group names must not be longer than ${maxNameBytes} bytes`
  return undefined
}

/** The longest name that a record holds. */
export const maxNameBytes = 253
