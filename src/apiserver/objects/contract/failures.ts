import { groupResource, type Place } from '../../../kube/object.ts'
import { StatusError, type StatusDetails } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'

type Named = Pick<ServedKind, 'group' | 'plural'>

/** The `details` of a Status about one object. */
export function detailsOf({ group, plural }: Named, name: string): StatusDetails {
  return { name, ...(group ? { group } : {}), kind: plural }
}

/** The 409 for a create of an existing name. */
export function alreadyExists(type: Named, name: string, isBeingDeleted = false): StatusError {
  const prefix = isBeingDeleted ? 'object is being deleted: ' : ''
  return new StatusError('AlreadyExists', `${prefix}${groupResource(type)} "${name}" already exists`, {
    details: detailsOf(type, name),
  })
}

/** The 409 for an outdated resourceVersion or a uid that does not match. */
export function conflict(type: Named, name: string, why: string): StatusError {
  return new StatusError('Conflict', `Operation cannot be fulfilled on ${groupResource(type)} "${name}": ${why}`, {
    details: detailsOf(type, name),
  })
}

/** kube-apiserver's text for an outdated resourceVersion. */
export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again'

/** The 409 for a uid precondition that does not match. */
export function uidMismatch(type: ServedKind, at: Place, uids: [string, string]): StatusError {
  const key = ['/registry', type.plural, ...(at.namespace ? [at.namespace] : []), at.name].join('/')
  return conflict(
    type,
    at.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ` +
      `Precondition failed: UID in precondition: ${uids[0]}, UID in object meta: ${uids[1]}`,
  )
}

/** A 400. */
export function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message)
}

/** The 403 of an admission check. */
export function forbidden(type: Named, name: string, why: string): StatusError {
  const subject = name ? `${groupResource(type)} "${name}"` : groupResource(type)
  return new StatusError('Forbidden', `${subject} is forbidden: ${why}`, { details: detailsOf(type, name) })
}

/** Go's error text for an unknown kind. */
export function notRegistered(kind: string, version: string): string {
  return `no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`
}

/** The 410 for a resourceVersion that was compacted away. */
export function expired(message: string): StatusError {
  return new StatusError('Expired', message)
}

/** The 504 for a resourceVersion that the store did not reach while the request waited. */
export function tooLargeVersion(wanted: number, current: number): StatusError {
  return new StatusError('Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}
