import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Guard } from './guard.ts'

export const root = resolve(import.meta.dirname, '../..')

/** The cases of a specification, the guards that enforce them, and the tests named after them. */
export interface GuardList {
  readonly cases: readonly string[]
  readonly guards: readonly Guard[]
  readonly testFolders: readonly string[]
}

/** The problems of a list: cases without a guard or a test, and guards whose text is not in the source. */
export function listProblems({ cases, guards, testFolders }: GuardList): readonly string[] {
  const filesOf = testFinder(testFolders)
  const unguarded = cases.flatMap((name) => [
    ...(guards.some((guard) => guard.case === name) ? [] : [`${name}: no guard is listed`]),
    ...(filesOf(name).length > 0 ? [] : [`${name}: no test has it in its name`]),
  ])
  const untested = guards.filter((guard) => !cases.includes(guard.case) && filesOf(guard.case).length === 0)
  return [
    ...unguarded,
    ...untested.map((guard) => `${guard.case}: no test has it in its name`),
    ...guards.flatMap(misplaced),
  ]
}

/** Finds the test files that have a case in the name of a test: its number, before the colon, or words of the name itself. */
export function testFinder(folders: readonly string[]): (name: string) => readonly string[] {
  const tests = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts'))
      .map((path) => ({ path: join(folder, path), text: readFileSync(join(root, folder, path), 'utf8') })),
  )
  return (name) => {
    const pattern = isNumber(name) ? new RegExp(`\\b${name}\\b[^'\`]*:`) : new RegExp(escaped(name))
    return tests.filter(({ text }) => pattern.test(text)).map(({ path }) => path)
  }
}

/** Finds a case in the full name of a test. */
export function namePattern(name: string): string {
  return isNumber(name) ? `\\b${name}\\b` : escaped(name)
}

function isNumber(name: string): boolean {
  return /^[A-Z]\d+$/.test(name)
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

function misplaced({ case: name, file, guard }: Guard): readonly string[] {
  const times = readFileSync(join(root, file), 'utf8').split(guard).length - 1
  return times === 1 ? [] : [`${name}: its guard occurs ${times} times in ${file}: ${guard.trim()}`]
}
