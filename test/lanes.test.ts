import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { lanes } from '../scripts/lanes/lanes.ts'
import { heavyTests } from './lanes.ts'

const root = resolve(import.meta.dirname, '..')
const scripts = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> })
  .scripts

it('names only paths that exist, and a script for each lane', () => {
  expect(
    Object.values(heavyTests)
      .flat()
      .filter((path) => !existsSync(join(root, path))),
  ).toEqual([])
  expect(Object.keys(heavyTests).filter((name) => !(`test:${name}` in scripts))).toEqual([])
})

it('keeps what needs Go out of npm test', () => {
  const isHeavy = (file: string) =>
    Object.values(heavyTests)
      .flat()
      .some((path) => file.startsWith(path))
  const files = globSync(['src/**/*.test.ts', 'examples/**/*.test.ts', 'test/*.test.ts', 'test/e2e/**/*.test.ts'], {
    cwd: root,
  })
  expect(files.length).toBeGreaterThan(200)
  const buildsTools = /from '[^']*(?:reference-cluster\/(?:tools|go-build|reference-cluster)|kubectl\/session)\.ts'/
  expect(files.filter((file) => !isHeavy(file) && buildsTools.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})

it('runs every lane there is in test:all', () => {
  const all = Object.keys(scripts).filter((name) => /^test:(?!unit$|all$|guards$)/.test(name))
  expect(lanes.map(({ script }) => script).toSorted()).toEqual(['test', ...all].toSorted())
})
