import { integerOf, LabelSelectorParser } from './label-selector-parser.ts'
import { StatusError } from './status-error.ts'

/** One requirement of a selector; all of a selector's must hold. */
export interface Requirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt'
  readonly values: readonly string[]
}

/** The `labelSelector` of a spec, as Kubernetes writes it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly Expression[]
}

interface Expression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** Parses `a=b,c in (d,e),!f,g>1` as the list endpoint's `labelSelector`; throws BadRequest on anything else. */
export function parseLabelSelector(text: string): readonly Requirement[] {
  return new LabelSelectorParser(text).parse()
}

/** Parses `metadata.name=x,status.phase!=Running`; field selectors know equality only. */
export function parseFieldSelector(text: string): readonly Requirement[] {
  const terms = (text.match(/(?:[^\\,]|\\.?)+/gsu) ?? []).toSorted()
  const requirements = terms.map((term): Requirement => {
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term)
    if (!match) throw new StatusError('BadRequest', `invalid selector: '${text}'; can't understand '${term}'`)
    const [, key = '', operator, value = ''] = match
    return { key, operator: operator === '!=' ? 'NotIn' : 'In', values: [unescaped(value)] }
  })
  // A term that names no field and no value asks for nothing.
  return requirements.filter(({ key, values }) => key !== '' || values[0] !== '')
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

/** Whether a spec's selector selects labels: none selects nothing, an empty one everything, one that cannot be read nothing. */
export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  if (!selector) return false
  try {
    return matches(requirementsOf(selector), labels)
  } catch {
    return false
  }
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
      case 'Gt':
      case 'Lt':
        return compares(value, operator, allowed[0])
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
        case 'Gt':
          return `${key}>${values[0]}`
        case 'Lt':
          return `${key}<${values[0]}`
      }
    })
    .join(',')
}

function requirementOf({ key, operator, values = [] }: Expression): Requirement {
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

/** Labels that are no integers compare with none. */
function compares(value: string | undefined, operator: 'Gt' | 'Lt', bound: string | undefined): boolean {
  const [left, right] = [integerOf(value ?? ''), integerOf(bound ?? '')]
  if (left === undefined || right === undefined) return false
  return operator === 'Gt' ? left > right : left < right
}

/** The value of a field selector, where `\\` stands before what would end it. */
function unescaped(value: string): string {
  return value.replaceAll(/\\(.?)|[,=]/gsu, (found, escaped: string | undefined) => {
    if (escaped === undefined)
      throw new StatusError(
        'BadRequest',
        `invalid field selector: unescaped character in value: ${found.codePointAt(0) ?? 0}`,
      )
    if (escaped === '' || !'\\,='.includes(escaped))
      throw new StatusError('BadRequest', `invalid field selector: invalid escape sequence: ${found}`)
    return escaped
  })
}
