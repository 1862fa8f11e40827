// Takes every guard out once and expects a test that bears the name of its case to fail: `npm run test:guards [-- LIST|CASE|FILE …]`.
// What has not ended after SOJOURN_GUARD_SECONDS (300), because nothing ends without that guard, is ended and reported.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVitest, type TestModule } from 'vitest/node'
import * as door from '../../test/door/guards.ts'
import * as environments from '../../test/environments/guards.ts'
import * as janitor from '../../test/janitor/guards.ts'
import * as mechanics from '../../test/mechanics/guards.ts'
import * as tenants from '../../test/tenants/guards.ts'
import type { Guard } from './guard.ts'
import { listProblems, namePattern, root, testFinder, type GuardList } from './guard-list.ts'

const lists: Readonly<Record<string, GuardList>> = { door, environments, janitor, mechanics, tenants }
const wanted = process.argv.slice(2)
// Processes are killed in one of the tests: twice is enough here.
process.env['SOJOURN_KILLS'] ??= '2'
// The same guards stand in both worlds.
process.env['SOJOURN_TENANT_WORLD'] ??= 'embedded'
let mutant: Guard | undefined
const limitMs = Number(process.env['SOJOURN_GUARD_SECONDS'] ?? 300) * 1000
const vitest = await createVitest(
  'test',
  {
    root,
    config: join(root, 'test/janitor/vitest.config.ts'),
    include: Object.values(lists)
      .flatMap(({ testFolders }) => testFolders)
      .map((folder) => `${folder}/**/*.test.ts`),
    watch: false,
    reporters: [{}],
  },
  { plugins: [{ name: 'without-guard', enforce: 'pre', transform }] },
)

const problems: string[] = []
for (const [name, list] of Object.entries(lists)) problems.push(...(await tried(name, list)))
for (const problem of problems) console.error(problem)
await vitest.close()
process.exit(problems.length === 0 ? 0 : 1)

async function tried(name: string, { cases, guards, testFolders }: GuardList): Promise<readonly string[]> {
  const isWanted = ({ case: itsCase, file }: Guard) =>
    wanted.length === 0 || wanted.some((word) => word === name || word === itsCase || file.endsWith(word))
  const chosen = guards.filter(isWanted)
  if (chosen.length === 0) return []
  const filesOf = testFinder(testFolders)
  const found = [...listProblems({ cases: wanted.length > 0 ? [] : cases, guards: chosen, testFolders })]
  if (found.length === 0) found.push(...(await healthy(chosen, filesOf)))
  if (found.length === 0) for (const guard of chosen) found.push(...(await takenOut(guard, filesOf)))
  return found
}

type TestFinder = ReturnType<typeof testFinder>

/** Whether all tests pass while every guard is in its place. */
async function healthy(chosen: readonly Guard[], filesOf: TestFinder): Promise<readonly string[]> {
  const names = [...new Set(chosen.map((guard) => guard.case))]
  const files = [...new Set(names.flatMap(filesOf))]
  const { passed, failed } = await run(files, names, limitMs * Math.max(1, files.length))
  console.log(`${passed.length} tests of ${names.length} cases pass with their guards`)
  return failed.map((test) => `fails with every guard in its place: ${test}`)
}

async function takenOut(guard: Guard, filesOf: TestFinder): Promise<readonly string[]> {
  const file = moduleOf(guard)
  mutant = guard
  vitest.invalidateFile(file)
  const { failed, isStuck } = await run(filesOf(guard.case), [guard.case], limitMs)
  mutant = undefined
  vitest.invalidateFile(file)
  const place = `${guard.file}:${lineOf(guard)}`
  if (isStuck) return [`${guard.case}: without ${place} its test does not end within ${limitMs / 1000} s`]
  if (failed.length === 0) return [`${guard.case}: no test misses ${place}`]
  console.log(`${guard.case.padEnd(4)} ${place}  missed by "${failed[0]}"`)
  return []
}

interface Results {
  readonly passed: readonly string[]
  readonly failed: readonly string[]
  /** It was ended from outside. */
  readonly isStuck?: boolean
}

async function run(files: readonly string[], names: readonly string[], withinMs: number): Promise<Results> {
  vitest.setGlobalTestNamePattern(new RegExp(names.map(namePattern).join('|')))
  const specifications = await vitest.globTestSpecifications([...files])
  const watchdog = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => watchdog.resolve(undefined), withinMs)
  const running = vitest.runTestSpecifications(specifications)
  const ended = await Promise.race([running, watchdog.promise])
  clearTimeout(timer)
  if (!ended) {
    // After one signal vitest waits for the running test; after two it exits at once.
    void vitest.cancelCurrentRun('keyboard-input')
    void vitest.cancelCurrentRun('keyboard-input')
    await running.catch(() => {})
    return { passed: [], failed: [], isStuck: true }
  }
  // What earlier runs found out about other files is handed out again.
  const paths = new Set(files.map((file) => join(root, file)))
  return resultsOf(ended.testModules.filter(({ moduleId }) => paths.has(moduleId)))
}

/** The module whose code is changed: a data file is changed where the program reads it. */
function moduleOf({ file }: Guard): string {
  return join(root, file.endsWith('.ts') ? file : 'src/packaging/package-files.ts')
}

function transform(code: string, id: string): string | undefined {
  if (!mutant || id.split('?')[0] !== moduleOf(mutant)) return undefined
  const reading = 'return readFileSync(join(packageRoot(), isSource ? placeInSource(name) : name))'
  const { file, guard, without } = mutant
  if (file.endsWith('.ts')) return code.replace(guard, () => without)
  if (!code.includes(reading)) throw new Error(`package-files.ts does not read files as "${reading}" any more`)
  const changed = `Buffer.from(read.toString().replace(${JSON.stringify(guard)}, () => ${JSON.stringify(without)}))`
  const isIt = `placeInSource(name) === ${JSON.stringify(file)}`
  return code.replace(reading, () => `${reading.replace('return', 'const read =')}\nreturn ${isIt} ? ${changed} : read`)
}

function resultsOf(modules: readonly TestModule[]): Results {
  const passed: string[] = []
  const failed: string[] = []
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      if (test.result().state === 'passed') passed.push(test.fullName)
      if (test.result().state === 'failed') failed.push(test.fullName)
    }
    if (module.errors().length > 0)
      throw new Error(`${module.moduleId} cannot be loaded: ${module.errors()[0]?.message}`)
  }
  return { passed, failed }
}

function lineOf({ file, guard }: Guard): number {
  const text = readFileSync(join(root, file), 'utf8')
  return text.slice(0, text.indexOf(guard)).split('\n').length
}
