import { isRecord, jsonIn } from '../../kube/basics/json.ts'

/** One step of a path: a field, an index, all items of a list, or the items a condition selects. */
type Step =
  | { readonly is: 'field'; readonly name: string }
  | { readonly is: 'index'; readonly at: number }
  | { readonly is: 'all' }
  | {
      readonly is: 'filter'
      readonly path: readonly Step[]
      readonly operator: '==' | '!=' | 'exists'
      readonly value?: unknown
    }

/** Evaluates a parsed path on an object. */
export type JsonPath = (root: unknown) => readonly unknown[]

/**
 * Parses the JSONPath of a printer column: `.a.b`, `['a.b']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`; undefined for
 * others.
 */
export function parseJsonPath(text: string): JsonPath | undefined {
  const steps = parseSteps(text.trim().replace(/^\$/, ''))
  return steps && ((root) => follow([root], steps))
}

const stepPattern =
  /^(?:\.?\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d+)|(\*)|\?\s*\(\s*@((?:[^()"']|"[^"]*"|'[^']*')+?)\s*\))\s*\]|\.((?:[^.[\]\\\s]|\\.)+))/

function parseSteps(text: string): readonly Step[] | undefined {
  const steps: Step[] = []
  let rest = text
  while (rest !== '') {
    const match = stepPattern.exec(rest)
    if (!match) return undefined
    const step = stepOf(match)
    if (!step) return undefined
    steps.push(step)
    rest = rest.slice(match[0].length)
  }
  return steps
}

function stepOf([, single, double, index, star, condition, field]: RegExpExecArray): Step | undefined {
  const name = single ?? double ?? field
  if (name === '*') return { is: 'all' }
  if (name !== undefined) return { is: 'field', name: name.replaceAll(/\\(.)/g, '$1') }
  if (index !== undefined) return { is: 'index', at: Number(index) }
  if (star !== undefined) return { is: 'all' }
  return condition === undefined ? undefined : filterOf(condition)
}

function filterOf(condition: string): Step | undefined {
  const match = /^(.*?)\s*(==|!=)\s*(.+)$/s.exec(condition)
  const path = parseSteps(match ? (match[1] ?? '') : condition)
  if (!path) return undefined
  if (!match) return { is: 'filter', path, operator: 'exists' }
  return { is: 'filter', path, operator: match[2] === '==' ? '==' : '!=', value: literal(match[3] ?? '') }
}

function literal(text: string): unknown {
  const quoted = /^(['"])(.*)\1$/s.exec(text)
  if (quoted) return quoted[2]
  return jsonIn(text) ?? text
}

function follow(values: readonly unknown[], steps: readonly Step[]): readonly unknown[] {
  let current = values
  for (const step of steps) current = current.flatMap((value) => take(value, step))
  return current
}

function take(value: unknown, step: Step): readonly unknown[] {
  switch (step.is) {
    case 'field':
      return isRecord(value) && Object.hasOwn(value, step.name) ? present(value[step.name]) : []
    case 'index':
      return Array.isArray(value) ? present(value.at(step.at) as unknown) : []
    case 'all':
      return Array.isArray(value) ? (value as unknown[]) : isRecord(value) ? Object.values(value) : []
    case 'filter':
      return Array.isArray(value) ? value.filter((item) => isSelected(item, step)) : []
  }
}

function isSelected(item: unknown, { path, operator, value }: Extract<Step, { is: 'filter' }>): boolean {
  const [found] = follow([item], path)
  switch (operator) {
    case 'exists':
      return found !== undefined
    case '==':
      return found === value
    case '!=':
      return found !== undefined && found !== value
  }
}

function present(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : [value]
}
