import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The numbers of cases that tests in these folders and below bear: what the pattern's first group finds in their text. */
export function caseNumbersIn(folders: readonly string[], pattern: RegExp): ReadonlySet<string> {
  const texts = folders.flatMap(testsIn).map((path) => readFileSync(path, 'utf8'))
  return new Set(texts.flatMap((text) => [...text.matchAll(pattern)].flatMap(([, numbers]) => numbers!.split(/,? /))))
}

function testsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(root, folder, name))
}
