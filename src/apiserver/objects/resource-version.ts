import { badRequest } from './failures.ts'

/** A resourceVersion of a query; undefined when none was sent. BadRequest for anything but a plain number. */
export function parseResourceVersion(text: string | undefined, prefix = ''): number | undefined {
  if (text === undefined || text === '') return undefined
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw badRequest(
      `${prefix}resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    )
  return Number(text)
}
