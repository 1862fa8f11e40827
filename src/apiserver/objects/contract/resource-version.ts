import { badRequest } from './failures.ts'

/** A resourceVersion of a query; undefined when none was sent. BadRequest for anything but a plain number. */
export function parseResourceVersion(text: string | undefined, prefix = ''): number | undefined {
  if (text === undefined || text === '') return undefined
  checkNumber(text, `${prefix}resourceVersion: Invalid value: ${JSON.stringify(text)}: `)
  return Number(text)
}

/** BadRequest, in Go's words, for a text that is no plain number. */
export function checkNumber(text: string, prefix = ''): void {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return
  throw badRequest(`${prefix}strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`)
}
