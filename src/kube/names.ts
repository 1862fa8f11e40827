import { isIP } from 'node:net'

/** What is wrong with a name, as sentences the API uses; empty when nothing is. */
export type NameCheck = (name: string) => readonly string[]

const labelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`
const qualifiedFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelValueFormat = `(${qualifiedFormat})?`
const configKeyFormat = '[-._a-zA-Z0-9]+'

const label = new RegExp(`^${labelFormat}$`)
const subdomain = new RegExp(`^${subdomainFormat}$`)
const qualified = new RegExp(`^${qualifiedFormat}$`)
const labelValue = new RegExp(`^${labelValueFormat}$`)
const configKey = new RegExp(`^${configKeyFormat}$`)

const alphanumericEnds = 'and must start and end with an alphanumeric character'
const subdomainRule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${alphanumericEnds} (e.g. 'example.com', regex used for validation is '${subdomainFormat}')`
const labelRule = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${alphanumericEnds} (e.g. 'my-name',  or '123-abc', regex used for validation is '${labelFormat}')`
const qualifiedRule = `must consist of alphanumeric characters, '-', '_' or '.', ${alphanumericEnds} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${qualifiedFormat}')`
const labelValueRule = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${alphanumericEnds} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${labelValueFormat}')`
const configKeyRule = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${configKeyFormat}')`

/** DNS-1123 subdomain: what most objects are named by. */
export const subdomainFaults: NameCheck = (name) =>
  limitedCharacters(name, 253, subdomain.test(name) ? [] : [subdomainRule])

/** DNS-1123 label: containers, ports of Services. */
export const labelFaults: NameCheck = (name) => limited(name, 63, label.test(name) ? [] : [labelRule])

/** A namespace: a label, said so when it is a whole domain. */
export const namespaceFaults: NameCheck = (name) => {
  if (name.includes('.') && subdomain.test(name)) return limited(name, 63, ['must not contain dots'])
  return labelFaults(name)
}

/** The names of RBAC objects: anything that can stand in a path. */
export const pathSegmentFaults: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((char) => name.includes(char)).map((char) => `may not contain '${char}'`)
}

/** A label or annotation key: a name with an optional domain in front. */
export const qualifiedNameFaults: NameCheck = (key) => {
  const parts = key.split('/')
  if (parts.length > 2) {
    return [
      `a valid label key ${qualifiedRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const [prefix, name] = parts.length === 2 ? [parts[0], parts[1] ?? ''] : [undefined, key]
  return [...prefixFaults(prefix), ...namePartFaults(name)]
}

export const labelValueFaults: NameCheck = (value) => limited(value, 63, labelValue.test(value) ? [] : [labelValueRule])

/** A key of a ConfigMap or Secret. */
export const configKeyFaults: NameCheck = (key) => {
  if (!configKey.test(key)) return limitedCharacters(key, 253, [configKeyRule])
  if (key === '.') return ["must not be '.'"]
  if (key === '..') return ["must not be '..'"]
  return limitedCharacters(key, 253, key.startsWith('..') ? ["must not start with '..'"] : [])
}

/** The name of a container's port, of at most 15 characters. */
export const portNameFaults: NameCheck = (name) => {
  const faults = name.length > 15 ? ['must be no more than 15 characters'] : []
  if (!/^[-a-z0-9]+$/.test(name)) faults.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(name)) faults.push('must contain at least one letter (a-z)')
  if (name.includes('--')) faults.push('must not contain consecutive hyphens')
  if (name.startsWith('-') || name.endsWith('-')) faults.push('must not begin or end with a hyphen')
  return /^[-a-z0-9]+$/.test(name) ? faults : faults.slice(0, name.length > 15 ? 2 : 1)
}

export const ipFaults: NameCheck = (text) =>
  isIP(text) > 0 ? [] : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']

export const cidrFaults: NameCheck = (text) => {
  const [address = '', bits = ''] = text.split('/')
  const family = isIP(address)
  const isFine = family > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  return isFine ? [] : ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']
}

/** A text as it may be part of a name: lower case, with dashes for what no label holds. */
export function nameFrom(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
}

function prefixFaults(prefix: string | undefined): readonly string[] {
  if (prefix === undefined) return []
  if (prefix === '') return ['prefix part must be non-empty']
  return subdomainFaults(prefix).map((fault) => `prefix part ${fault}`)
}

function namePartFaults(name: string): readonly string[] {
  if (name === '') return ['name part must be non-empty', `name part ${qualifiedRule}`]
  const faults = qualified.test(name) ? [] : [`name part ${qualifiedRule}`]
  return name.length > 63 ? ['name part must be no more than 63 bytes', ...faults] : faults
}

function limited(text: string, max: number, faults: readonly string[]): readonly string[] {
  return text.length > max ? [`must be no more than ${max} bytes`, ...faults] : faults
}

function limitedCharacters(text: string, max: number, faults: readonly string[]): readonly string[] {
  return text.length > max ? [`must be no more than ${max} characters`, ...faults] : faults
}
