import { isIPv4, isIPv6 } from 'node:net'
import { parseDuration, parseTime } from '../../../kube/time.ts'

/** Whether a string matches a format of go-openapi/strfmt; unknown formats accept everything. */
export function hasFormat(format: string, text: string): boolean {
  return formats[format.replaceAll('-', '')]?.(text) ?? true
}

const uuid = (version: string, variant: string) =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}-?${variant}-?[0-9a-f]{12}$`, 'i')
const uuidAny = uuid('[0-9a-f]{4}', '[0-9a-f]{4}')
const uuid3 = uuid('3[0-9a-f]{3}', '[0-9a-f]{4}')
const uuid4 = uuid('4[0-9a-f]{3}', '[89ab][0-9a-f]{3}')
const uuid5 = uuid('5[0-9a-f]{3}', '[89ab][0-9a-f]{3}')
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  datetime: (text) => parseTime(text) !== undefined,
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && parseTime(`${text}T00:00:00Z`) !== undefined,
  duration: isDuration,
  byte: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  uuid: (text) => uuidAny.test(text),
  uuid3: (text) => uuid3.test(text),
  uuid4: (text) => uuid4.test(text),
  uuid5: (text) => uuid5.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  cidr: isCidr,
  mac: isMac,
  uri: isRequestUri,
  email: (text) => /^(?:[^<>]*<)?[^\s<>@]+@[^\s<>@]+>?$/.test(text),
  hostname: isHostname,
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: (text) =>
    /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.test(text) &&
    text.match(/\d+/g)?.every((n) => Number(n) < 256) === true,
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text) && text.length === 11,
  bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  k8sshortname: (text) => text.length <= 63 && label.test(text),
  k8slongname: (text) => text.length <= 253 && text.split('.').every((part) => label.test(part)),
}

/** Go durations, and `3 days`, which strfmt also accepts. */
function isDuration(text: string): boolean {
  if (parseDuration(text) !== undefined) return true
  return /(?:^|\D)\d+\s*(?:ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\b/i.test(
    text,
  )
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false
  if (isIPv4(address)) return Number(bits) <= 32
  return isIPv6(address) && Number(bits) <= 128
}

function isMac(text: string): boolean {
  return (
    /^([0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\2){4}(?:[0-9a-f]{2}\2[0-9a-f]{2}\2)?[0-9a-f]{2}$/i.test(text) ||
    /^[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?:\.[0-9a-f]{4})?$/i.test(text)
  )
}

function isRequestUri(text: string): boolean {
  if (text.startsWith('/')) return !/\s/u.test(text)
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && URL.canParse(text)
}

function isHostname(text: string): boolean {
  if (text.length > 255) return false
  const parts = text.split('.')
  const part = /^[\p{L}\p{S}0-9](?:[\p{L}\p{S}0-9-]{0,61}[\p{L}\p{S}0-9])?$/u
  if (parts.length > 1 && !/^[\p{L}]{2,63}$/u.test(parts.at(-1) ?? '')) return false
  return parts.every((each) => part.test(each))
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = Array.from(digits).reduce(
    (total, digit, index) => total + (index + 1) * (digit === 'X' ? 10 : Number(digit)),
    0,
  )
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  return (
    Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0
  )
}

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '')
  if (
    !/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/.test(
      digits,
    )
  )
    return false
  const sum = Array.from(digits)
    .toReversed()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
      return total + (value > 9 ? value - 9 : value)
    }, 0)
  return sum % 10 === 0
}
