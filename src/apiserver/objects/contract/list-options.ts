import { forbidden, invalid, unsupported, type FieldError } from '../../schema/types/field-error.ts'
import { badRequest } from './failures.ts'
import type { ListRequest, WatchRequest } from './request.ts'
import { parseResourceVersion } from './resource-version.ts'

const field = 'resourceVersionMatch'
const listOptions = { group: 'meta.k8s.io', version: 'v1', kind: 'ListOptions' }

/** Which state of the store a list asks for. */
export type RequestedSnapshot =
  | { readonly state: 'newest' }
  | { readonly state: 'notOlderThan'; readonly revision: number }
  | { readonly state: 'exactly'; readonly revision: number }

/**
 * Resolves resourceVersion, resourceVersionMatch and limit. Throws Invalid for combinations that Kubernetes forbids.
 */
export function requestedSnapshot(request: ListRequest, limit: number | undefined): RequestedSnapshot {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = request
  const errors: FieldError[] = []
  if (sendInitialEvents) errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  errors.push(...matchErrors(request, request.continue))
  if (errors.length > 0) throw invalid(listOptions, '', errors)
  const revision = parseResourceVersion(resourceVersion, 'invalid resource version: ')
  if (!revision) return { state: 'newest' }
  // Without resourceVersionMatch, a limit implies Exact and no limit NotOlderThan (legacy semantics).
  const exactly = resourceVersionMatch ? resourceVersionMatch === 'Exact' : limit !== undefined
  return { state: exactly ? 'exactly' : 'notOlderThan', revision }
}

/** Validates the options of a watch; throws Invalid. */
export function checkWatchOptions({ resourceVersionMatch, sendInitialEvents }: WatchRequest): void {
  const errors: FieldError[] = []
  const asksForState = sendInitialEvents !== undefined
  if (!asksForState && resourceVersionMatch)
    errors.push(forbidden(field, `${field} is forbidden for watch unless sendInitialEvents is provided`))
  if (asksForState && resourceVersionMatch !== 'NotOlderThan') {
    errors.push(forbidden(field, `sendInitialEvents requires setting ${field} to NotOlderThan`))
    if (resourceVersionMatch) errors.push(unsupported(field, resourceVersionMatch, ['NotOlderThan']))
  }
  if (errors.length > 0) throw invalid(listOptions, '', errors)
}

/** Parses an integer parameter; undefined when it is absent or not positive, which means "no limit". */
export function parseCount(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const refuse = (why: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`)
  if (!/^[-+]?\d+$/.test(text)) throw refuse('invalid syntax')
  if (text.length > 19) throw refuse('value out of range')
  return Number(text) > 0 ? Number(text) : undefined
}

/** Parses a boolean parameter as Go's strconv.ParseBool does. */
export function parseFlag(text: string | undefined): boolean {
  return text !== undefined && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)
}

function* matchErrors(
  { resourceVersion = '', resourceVersionMatch = '' }: ListRequest,
  token: string | undefined,
): Generator<FieldError> {
  if (resourceVersionMatch === '') return
  if (token) yield forbidden(field, 'resourceVersionMatch is forbidden when continue is provided')
  if (resourceVersion === '')
    yield forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided')
  if (resourceVersionMatch !== 'Exact' && resourceVersionMatch !== 'NotOlderThan')
    yield unsupported(field, resourceVersionMatch, ['Exact', 'NotOlderThan', ''])
  if (resourceVersionMatch === 'Exact' && resourceVersion === '0')
    yield forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
}
