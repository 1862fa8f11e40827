import { departure } from '../../apis/departure.ts'
import type { Access } from '../../apiserver/auth/access.ts'

/**
 * The access a caller needs before a delete may name the Departure of its cascade (`NAMESPACE/NAME`). Without this check any user could
 * name an existing record, and the object would be deleted without one of its own.
 */
export function recordAccess(record: string): Access {
  const { group, plural } = departure.type
  const [namespace = '', name = ''] = record.split('/')
  return { verb: 'patch', group, resource: plural, subresource: '', namespace, name }
}
