import { StatusError } from './status-error.ts'

/** One requirement of a selector; all of a selector's must hold. */
export interface Requirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values: readonly string[]
}

/** The `labelSelector` of a spec, as Kubernetes writes it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

/** Parses `a=b,c in (d,e),!f` as the list endpoint's `labelSelector`; throws BadRequest on anything else. */
export function parseLabelSelector(text: string): readonly Requirement[] {
  return splitTopLevel(text).map((part) => parseRequirement(part.trim(), text))
}

/** Parses `metadata.name=x,status.phase!=Running`; field selectors know equality only. */
export function parseFieldSelector(text: string): readonly Requirement[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^([^!=]+)(!=|==|=)(.*)$/s.exec(part)
      if (!match) throw new StatusError('BadRequest', `invalid field selector "${text}": cannot understand "${part}"`)
      const [, key = '', operator, value = ''] = match
      return { key: key.trim(), operator: operator === '!=' ? 'NotIn' : 'In', values: [value.trim()] }
    })
}

/** The requirements of a spec's selector; an empty selector selects everything. Throws Invalid on a malformed one. */
export function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly Requirement[] {
  const equalities = Object.entries(matchLabels).map(([key, value]): Requirement => ({
    key,
    operator: 'In',
    values: [value],
  }))
  return [...equalities, ...matchExpressions.map(requirementOf)]
}

/** Whether labels (or field values) satisfy every requirement. */
export function matches(requirements: readonly Requirement[], values: Readonly<Record<string, string>> = {}): boolean {
  return requirements.every(({ key, operator, values: allowed }) => {
    const value = Object.hasOwn(values, key) ? values[key] : undefined
    switch (operator) {
      case 'In':
        return value !== undefined && allowed.includes(value)
      case 'NotIn':
        return value === undefined || !allowed.includes(value)
      case 'Exists':
        return value !== undefined
      case 'DoesNotExist':
        return value === undefined
    }
  })
}

/** The query-string form of requirements. */
export function formatSelector(requirements: readonly Requirement[]): string {
  return requirements
    .map(({ key, operator, values }) => {
      switch (operator) {
        case 'In':
          return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`
        case 'NotIn':
          return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(',')})`
        case 'Exists':
          return key
        case 'DoesNotExist':
          return `!${key}`
      }
    })
    .join(',')
}

function requirementOf(expression: {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}): Requirement {
  const { key, operator, values = [] } = expression
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        throw new StatusError('Invalid', `selector operator ${operator} for "${key}" needs values`)
      return { key, operator, values }
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        throw new StatusError('Invalid', `selector operator ${operator} for "${key}" takes no values`)
      return { key, operator, values: [] }
    default:
      throw new StatusError('Invalid', `"${operator}" is not a valid label selector operator`)
  }
}

/** Splits at commas that are not inside parentheses. */
function splitTopLevel(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  parts.push(text.slice(start))
  return parts.length === 1 && parts[0]?.trim() === '' ? [] : parts
}

function parseRequirement(part: string, whole: string): Requirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part)
  if (set) {
    const [, key = '', operator, list = ''] = set
    const values = list.split(',').map((value) => checkValue(value.trim(), whole))
    return { key: checkKey(key, whole), operator: operator === 'in' ? 'In' : 'NotIn', values }
  }
  const equality = /^([^!=\s]+)\s*(!=|==|=)\s*([^!=\s]*)$/.exec(part)
  if (equality) {
    const [, key = '', operator, value = ''] = equality
    return {
      key: checkKey(key, whole),
      operator: operator === '!=' ? 'NotIn' : 'In',
      values: [checkValue(value, whole)],
    }
  }
  if (part.startsWith('!')) return { key: checkKey(part.slice(1).trim(), whole), operator: 'DoesNotExist', values: [] }
  return { key: checkKey(part, whole), operator: 'Exists', values: [] }
}

function checkKey(key: string, whole: string): string {
  if (labelKey.test(key)) return key
  throw new StatusError(
    'BadRequest',
    `unable to parse requirement: <nil>: Invalid value: ${JSON.stringify(key)}: not a label key (in "${whole}")`,
  )
}

function checkValue(value: string, whole: string): string {
  if (labelValue.test(value)) return value
  throw new StatusError(
    'BadRequest',
    `unable to parse requirement: values[0][]: Invalid value: ${JSON.stringify(value)}: not a label value (in "${whole}")`,
  )
}

const labelKey = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
