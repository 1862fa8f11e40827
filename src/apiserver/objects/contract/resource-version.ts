import { badRequest } from './failures.ts'

/** Parses a resourceVersion parameter; undefined when absent. Throws BadRequest for anything but a plain number. */
export function parseResourceVersion(text: string | undefined, prefix = ''): number | undefined {
  if (text === undefined || text === '') return undefined
  checkNumber(text, `${prefix}resourceVersion: Invalid value: ${JSON.stringify(text)}: `)
  return Number(text)
}

/** Throws BadRequest with Go's strconv error for a text that is not a plain number. */
export function checkNumber(text: string, prefix = ''): void {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return
  throw badRequest(`${prefix}strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`)
}
