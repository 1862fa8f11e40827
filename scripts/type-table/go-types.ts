import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One field of a Go struct, as its declaration states it. */
export interface GoField {
  /** Empty for an embedded field. */
  readonly goName: string
  /** The type expression: `*int32`, `[]Container`, `map[string]resource.Quantity`. */
  readonly type: string
  readonly tags: Readonly<Record<string, string>>
}

/** A type declared in a Go package: a struct, or another name for `underlying`. */
export type GoType = { readonly fields: readonly GoField[] } | { readonly underlying: string }

/** A Go package read from source. */
export interface GoPackage {
  readonly types: ReadonlyMap<string, GoType>
  /** Import alias to import path. */
  readonly imports: ReadonlyMap<string, string>
}

/** Reads the type declarations of a package whose source is formatted by gofmt. */
export function readPackage(folder: string): GoPackage {
  const types = new Map<string, GoType>()
  const imports = new Map<string, string>()
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.go') || name.endsWith('_test.go') || /generated|^zz_/.test(name)) continue
    const source = readFileSync(join(folder, name), 'utf8')
    for (const [alias, path] of importsOf(source)) imports.set(alias, path)
    for (const [typeName, type] of typesOf(source)) types.set(typeName, type)
  }
  return { types, imports }
}

function* importsOf(source: string): Generator<[string, string]> {
  const block = /^import \(([\s\S]*?)^\)/m.exec(source)?.[1] ?? ''
  const single = [...source.matchAll(/^import (.*)$/gm)].map((match) => match[1] ?? '').join('\n')
  for (const [, alias, path = ''] of `${block}\n${single}`.matchAll(/^\s*(?:(\w+)\s+)?"([^"]+)"/gm)) {
    yield [alias ?? path.slice(path.lastIndexOf('/') + 1), path]
  }
}

function* typesOf(source: string): Generator<[string, GoType]> {
  for (const [, name = '', body = ''] of source.matchAll(/^type (\w+) struct ?\{(?:\n([\s\S]*?)^)?\}/gm)) {
    yield [name, { fields: fieldsOf(body) }]
  }
  for (const [, name = '', underlying = ''] of source.matchAll(/^type (\w+) =? ?([\w.[\]*]+)$/gm)) {
    if (underlying !== 'struct') yield [name, { underlying }]
  }
}

function fieldsOf(body: string): GoField[] {
  const fields: GoField[] = []
  for (const line of body.split('\n')) {
    const match = /^\t(?:(\w+)\s+)?([\w.[\]*]+)\s+`([^`]*)`/.exec(line)
    if (!match) continue
    const [, goName = '', type = '', tags = ''] = match
    fields.push({ goName, type, tags: tagsOf(tags) })
  }
  return fields
}

function tagsOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(\w+):"([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]))
}
