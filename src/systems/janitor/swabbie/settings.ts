import { isRecord } from '../../../kube/basics/json.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import { limits } from '../../../parsing/limits.ts'
import { readYaml } from '../../../parsing/yaml-text.ts'

/** A section of the file. It records which keys were read, so that unread ones can be reported. */
export class Settings {
  readonly path: string
  readonly #values: Readonly<Record<string, unknown>>
  readonly #asked = new Set<string>()
  /** By path: reading a section again continues with the same record of keys. */
  readonly #children = new Map<string, Settings>()

  constructor(values: unknown, path = '') {
    this.path = path
    this.#values = isRecord(values) ? expanded(values) : {}
  }

  has(key: string): boolean {
    return this.#values[this.#ask(key)] !== undefined
  }

  text(key: string): string | undefined {
    const value = this.#values[this.#ask(key)]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
    throw new ConfigError(`${this.#at(key)} must be a string`)
  }

  number(key: string): number | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value) || value < 0)
      throw new ConfigError(`${this.#at(key)} is ${JSON.stringify(text)}: it must be a number`)
    return value
  }

  flag(key: string): boolean | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    if (text === 'true' || text === 'false') return text === 'true'
    throw new ConfigError(`${this.#at(key)} is ${JSON.stringify(text)}: it must be true or false`)
  }

  texts(key: string): readonly string[] | undefined {
    const value = this.#values[this.#ask(key)]
    if (value === undefined || value === null) return undefined
    return (Array.isArray(value) ? value : String(value as string).split(',')).map((item) =>
      String(item as string).trim(),
    )
  }

  raw(key: string): unknown {
    return this.#values[this.#ask(key)]
  }

  part(key: string): Settings {
    return this.#child(this.#values[this.#ask(key)], this.#at(key))
  }

  parts(key: string): readonly Settings[] {
    const value = this.#values[this.#ask(key)]
    return Array.isArray(value) ? value.map((item, index) => this.#child(item, `${this.#at(key)}[${index}]`)) : []
  }

  /** Marks every key as read, so that none is reported. */
  dismiss(): void {
    for (const key of Object.keys(this.#values)) this.#asked.add(key)
  }

  /** Keys that nothing has been read from. */
  unread(): readonly string[] {
    const own = Object.keys(this.#values)
      .filter((key) => !this.#asked.has(key))
      .map((key) => this.#at(key))
    return [...own, ...[...this.#children.values()].flatMap((child) => child.unread())]
  }

  #child(value: unknown, path: string): Settings {
    return this.#children.getOrInsertComputed(path, () => new Settings(value, path))
  }

  #at(key: string): string {
    return this.path ? `${this.path}.${key}` : key
  }

  /** Resolves a key as Spring does: kebab case and camel case are equal. */
  #ask(key: string): string {
    const found = Object.keys(this.#values).find((candidate) => plain(candidate) === plain(key)) ?? key
    this.#asked.add(found)
    return found
  }
}

/** Reads a swabbie.yml with its `${name:default}` placeholders filled in. */
export function readSettings(text: string, variable: (name: string) => string | undefined): Settings {
  let values: unknown
  try {
    values = readYaml(fillIn(text, variable), limits.ownFile).documents[0]
  } catch (error) {
    throw new ConfigError(`swabbie.yml is not YAML: ${(error as Error).message}`, { cause: error })
  }
  if (!isRecord(values)) throw new ConfigError('swabbie.yml is empty or not a map of settings')
  return new Settings(values)
}

function fillIn(text: string, variable: (name: string) => string | undefined): string {
  return text.replaceAll(/\$\{([^}:]+)(?::([^}]*))?\}/g, (whole, name: string, fallback: string | undefined) => {
    const upper = name.toUpperCase().replaceAll(/[.-]/g, '_')
    return variable(name) ?? variable(upper) ?? fallback ?? whole
  })
}

function plain(key: string): string {
  return key.replaceAll(/[-_]/g, '').toLowerCase()
}

/** Expands dotted keys as Spring does: `a.b: 1` means `a: {b: 1}`. */
function expanded(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(values)) {
    const dot = key.indexOf('.')
    if (dot < 0) {
      result[key] = isRecord(value) && isRecord(result[key]) ? { ...result[key], ...value } : value
      continue
    }
    const head = key.slice(0, dot)
    const rest = { [key.slice(dot + 1)]: value }
    result[head] = isRecord(result[head]) ? { ...result[head], ...rest } : rest
  }
  return result
}
