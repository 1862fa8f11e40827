import { groupResource } from '../../../kube/object.ts'
import { StatusError, type StatusDetails } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'

type Named = Pick<ServedKind, 'group' | 'plural'>

/** The details that failures about one object carry. */
export function detailsOf({ group, plural }: Named, name: string): StatusDetails {
  return { name, ...(group ? { group } : {}), kind: plural }
}

export function alreadyExists(type: Named, name: string, isBeingDeleted = false): StatusError {
  const prefix = isBeingDeleted ? 'object is being deleted: ' : ''
  return new StatusError('AlreadyExists', `${prefix}${groupResource(type)} "${name}" already exists`, {
    details: detailsOf(type, name),
  })
}

/** Somebody else was faster, or the caller meant another object. */
export function conflict(type: Named, name: string, why: string): StatusError {
  return new StatusError('Conflict', `Operation cannot be fulfilled on ${groupResource(type)} "${name}": ${why}`, {
    details: detailsOf(type, name),
  })
}

export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again'

/** The uid that was asked for is not the uid that is there. */
export function uidMismatch(
  type: ServedKind,
  at: { namespace?: string; name: string },
  uids: [string, string],
): StatusError {
  const key = ['/registry', type.plural, ...(at.namespace ? [at.namespace] : []), at.name].join('/')
  return conflict(
    type,
    at.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ` +
      `Precondition failed: UID in precondition: ${uids[0]}, UID in object meta: ${uids[1]}`,
  )
}

export function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message)
}

export function forbidden(type: Named, name: string, why: string): StatusError {
  const subject = name ? `${groupResource(type)} "${name}"` : groupResource(type)
  return new StatusError('Forbidden', `${subject} is forbidden: ${why}`, { details: detailsOf(type, name) })
}

/** What Go says of a kind it has no type for. */
export function notRegistered(kind: string, version: string): string {
  return `no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`
}

/** The past that was asked for is not kept any more. */
export function expired(message: string): StatusError {
  return new StatusError('Expired', message)
}

/** The future that was asked for has not come within the time a request may wait. */
export function tooLargeVersion(wanted: number, current: number): StatusError {
  return new StatusError('Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}
