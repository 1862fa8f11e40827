import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

/** The layers, lowest first, and what each may import beside itself. DESIGN.md §2 in a form that can fail. */
const layers: Record<string, readonly string[]> = {
  kube: [],
  cel: ['kube'],
  apis: ['kube'],
  client: ['kube'],
  runtime: ['kube', 'client'],
  departures: ['kube', 'apis', 'client', 'runtime'],
  systems: ['kube', 'cel', 'apis', 'client', 'runtime', 'departures'],
  apiserver: ['kube', 'cel'],
  workloads: ['kube', 'client', 'runtime'],
  app: ['kube', 'cel', 'apis', 'client', 'runtime', 'departures', 'systems', 'apiserver', 'workloads'],
  cli: ['app', 'client', 'apis', 'kube'],
}

const root = resolve(import.meta.dirname, '../src')

/** Every rule an import breaks, as sentences; empty when it breaks none. */
function violations(file: string, source: string): string[] {
  const from = relative(root, file)
  const [layer = '', system] = from.split('/')
  return importsOf(source).flatMap((specifier) => {
    if (!specifier.startsWith('.')) {
      return isDecision(from) && specifier.startsWith('node:')
        ? [`${from} decides, so it must not import ${specifier}`]
        : []
    }
    const target = relative(root, resolve(dirname(file), specifier))
    const [targetLayer = '', targetSystem] = target.split('/')
    if (target.startsWith('..')) return [`${from} imports ${specifier}, which is outside src`]
    if (!specifier.endsWith('.ts')) return [`${from} imports ${specifier} without its .ts suffix`]
    if (isDecision(from) && ['runtime', 'client'].includes(targetLayer))
      return [`${from} decides, so it must not import ${target}`]
    if (layer === 'systems' && targetLayer === 'systems' && system !== targetSystem)
      return [`${from} imports another system: ${target}`]
    if (isLifecycle(from) && /^systems\/janitor\/(?:aws|kubernetes)\//.test(target))
      return [`${from} must not know a provider: ${target}`]
    if (layer === targetLayer || layers[layer]?.includes(targetLayer)) return []
    return [`${from} (${layer}) must not import ${target} (${targetLayer})`]
  })
}

function isDecision(path: string): boolean {
  return path.endsWith('/decide.ts')
}

/** The janitor's own code, but for the file that puts it together. */
function isLifecycle(path: string): boolean {
  return /^systems\/janitor\/(?!janitor\.ts$)[^/]+$/.test(path)
}

function importsOf(source: string): string[] {
  const found = source.matchAll(
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s+['"]([^'"]+)['"]/gm,
  )
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

function sourceFiles(): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => join(root, path))
}

describe('architecture', () => {
  it('has imports that go down only', () => {
    const files = sourceFiles()
    expect(files.length).toBeGreaterThan(10)
    expect(files.flatMap((file) => violations(file, readFileSync(file, 'utf8')))).toEqual([])
  })

  it('knows every layer there is', () => {
    const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map((folder) => folder.name).filter((name) => !(name in layers))).toEqual([])
  })

  it.each([
    ['an import that goes up', 'kube/a.ts', "import { x } from '../client/b.ts'"],
    ['a type import that goes up', 'kube/a.ts', "import type { X } from '../client/b.ts'"],
    ['an import over several lines', 'kube/a.ts', "import {\n  x,\n} from '../client/b.ts'"],
    ['a dynamic import', 'cel/a.ts', "const b = await import('../client/b.ts')"],
    ['a lifecycle that knows a type', 'systems/janitor/mark-cycle.ts', "import { x } from './aws/types/image.ts'"],
    ['one system importing another', 'systems/cleaner/a.ts', "import { x } from '../janitor/b.ts'"],
    ['a system importing the API server', 'systems/cleaner/a.ts', "import { x } from '../../apiserver/b.ts'"],
    ['a decision that reads the world', 'systems/cleaner/decide.ts', "import fs from 'node:fs'"],
    ['a decision that knows the runtime', 'systems/cleaner/decide.ts', "import { x } from '../../runtime/b.ts'"],
    ['a missing suffix', 'client/a.ts', "import { x } from '../kube/b'"],
    ['a re-export that goes up', 'kube/a.ts', "export { x } from '../client/b.ts'"],
  ])('would notice %s', (_, file, source) => {
    expect(violations(join(root, file), source)).toHaveLength(1)
  })
})
