import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

/** The layers, lowest first, and what each may import beside itself. ARCHITECTURE.md draws the same table. */
const layers: Record<string, readonly string[]> = {
  packaging: [],
  kube: [],
  cel: ['kube'],
  apis: ['kube'],
  prices: ['kube'],
  parsing: ['kube', 'packaging'],
  client: ['kube', 'parsing'],
  runtime: ['kube', 'parsing', 'client'],
  git: ['kube', 'apis', 'parsing', 'runtime'],
  forges: ['kube', 'apis', 'runtime', 'git', 'parsing'],
  notices: ['kube', 'apis', 'client', 'runtime'],
  departures: ['kube', 'apis', 'parsing', 'client', 'runtime'],
  tenancy: ['kube', 'apis', 'client', 'runtime'],
  helm: ['kube', 'parsing', 'client', 'runtime', 'departures', 'tenancy'],
  systems: [
    'packaging',
    'kube',
    'cel',
    'apis',
    'prices',
    'parsing',
    'client',
    'runtime',
    'git',
    'forges',
    'notices',
    'departures',
    'tenancy',
    'helm',
  ],
  apiserver: ['packaging', 'kube', 'cel', 'parsing'],
  workloads: ['kube', 'client', 'runtime'],
  admission: [
    'packaging',
    'kube',
    'cel',
    'apis',
    'parsing',
    'client',
    'runtime',
    'forges',
    'departures',
    'tenancy',
    'systems',
    'apiserver',
  ],
  forecast: [
    'kube',
    'apis',
    'parsing',
    'client',
    'runtime',
    'notices',
    'departures',
    'systems',
    'apiserver',
    'admission',
  ],
  queries: ['kube', 'apis', 'client', 'runtime', 'departures', 'systems'],
  app: 'packaging kube cel apis prices parsing client runtime git forges notices departures tenancy helm systems apiserver workloads admission forecast queries'.split(
    ' ',
  ),
  cli: ['packaging', 'app', 'queries', 'forecast', 'client', 'apis', 'kube'],
}

/** One import: the importing file and what it names, both relative to `src` unless the target is a module. */
interface Import {
  readonly from: string
  readonly to: string
}

/** Rules inside and across layers that the table above cannot say. */
interface Contract {
  readonly sentence: string
  isBroken(edge: Import): boolean
}

const contracts: readonly Contract[] = [
  {
    sentence: 'imports go down only',
    isBroken({ from, to }) {
      const [layer, target] = [topOf(from), topOf(to)] as const
      return isOurs(to) && layer !== target && !layers[layer]?.includes(target)
    },
  },
  {
    sentence: 'systems do not know each other',
    isBroken: ({ from, to }) =>
      topOf(from) === 'systems' && topOf(to) === 'systems' && from.split('/')[1] !== to.split('/')[1],
  },
  {
    sentence: 'decisions do no I/O',
    isBroken: ({ from, to }) =>
      isDecision(from) && (/^(?:client|runtime)\//.test(to) || (to.startsWith('node:') && to !== 'node:crypto')),
  },
  {
    sentence: 'the vocabulary does no I/O',
    isBroken: ({ from, to }) => /^(?:kube|cel|apis)\//.test(from) && ioModules.test(to),
  },
  {
    sentence: 'the proxy knows no Kubernetes',
    isBroken: ({ from, to }) => from.startsWith('systems/activator/proxy/') && /^(?:client|apis|departures)\//.test(to),
  },
  {
    sentence: "the janitor's lifecycle knows no provider",
    isBroken: ({ from, to }) =>
      /^systems\/janitor\/(?!janitor\.ts$|aws\/|kubernetes\/)/.test(from) &&
      /^systems\/janitor\/(?:aws|kubernetes)\//.test(to),
  },
  {
    sentence: 'an import names a file of ours with its .ts or .json suffix',
    isBroken: ({ to }) => isOurs(to) && !/\.(ts|json)$/.test(to),
  },
]

/** `node:net` is not among them: kube/names.ts asks it whether a text is an IP address. */
const ioModules = /^node:(?:fs|http|https|http2|tls|dns|dgram|child_process|worker_threads|process|timers)\b/

const root = resolve(import.meta.dirname, '../src')

/** The demo is an example, not part of the product: `sojourn demo` alone loads it, and only when it is run. */
const demo = '../examples/demo/play.ts'

/** Every contract that an import of this file breaks, as sentences; empty when it breaks none. */
function violations(from: string, source: string): string[] {
  const edges = importsOf(from, source)
  const outside = edges
    .filter(({ to }) => to.startsWith('..') && !(from === 'cli/operate/demo.ts' && to === demo))
    .map(({ to }) => `${from} imports ${to}, outside src`)
  return [
    ...outside,
    ...edges.flatMap((edge) =>
      contracts.filter((rule) => rule.isBroken(edge)).map((rule) => `${rule.sentence}: ${from} imports ${edge.to}`),
    ),
  ]
}

/** Folders that hold rules only: their files take values and return values. */
function isDecision(path: string): boolean {
  return /\/(?:decision|verdict|graph)\/|\/decide\.ts$/.test(path)
}

function isOurs(target: string): boolean {
  return topOf(target) in layers
}

function topOf(path: string): string {
  return path.split('/')[0] ?? ''
}

/** The folder of a file. CEL and its function libraries are one room: values and evaluation are one idea. */
function roomOf(path: string): string {
  return path.startsWith('cel/') ? 'cel' : dirname(path)
}

function importsOf(from: string, source: string): Import[] {
  const found = source.matchAll(
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s+['"]([^'"]+)['"]/gm,
  )
  return [...found]
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .map((named) => ({ from, to: named.startsWith('.') ? relative(root, resolve(root, dirname(from), named)) : named }))
}

function sourceFiles(): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )
}

/** A way from a room back to itself through the rooms it imports, or undefined. */
function cycleAmong(edges: readonly Import[]): string[] | undefined {
  const next = new Map<string, Set<string>>()
  for (const { from, to } of edges)
    if (roomOf(from) !== roomOf(to)) next.set(roomOf(from), (next.get(roomOf(from)) ?? new Set()).add(roomOf(to)))
  const done = new Set<string>()
  const walk = (room: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(room)) return [...way.slice(way.indexOf(room)), room]
    if (done.has(room)) return undefined
    for (const target of next.get(room) ?? []) {
      const cycle = walk(target, [...way, room])
      if (cycle) return cycle
    }
    done.add(room)
    return undefined
  }
  for (const room of next.keys()) {
    const cycle = walk(room, [])
    if (cycle) return cycle
  }
  return undefined
}

describe('architecture', () => {
  const files = sourceFiles()
  const read = (path: string) => readFileSync(join(root, path), 'utf8')

  it('keeps every contract', () => {
    expect(files.length).toBeGreaterThan(10)
    expect(files.flatMap((file) => violations(file, read(file)))).toEqual([])
  })

  it('knows every layer there is', () => {
    const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map((folder) => folder.name).filter((name) => !(name in layers))).toEqual([])
  })

  it('has no cycle between folders', () => {
    const edges = files.flatMap((file) => importsOf(file, read(file))).filter(({ to }) => isOurs(to))
    expect(cycleAmong(edges)).toBeUndefined()
  })

  it('resolves paths from import.meta in one module: a bundle moves code', () => {
    const others = files.filter((file) => file !== 'packaging/package-files.ts' && file !== 'kube/yaml.ts')
    expect(others.filter((file) => /\bimport\.meta\b/.test(read(file)))).toEqual([])
  })

  it('keeps what is ours out of the API server: it arrives by a port', () => {
    const ours = files.filter((file) => file.startsWith('apiserver/') && read(file).includes('sojourn.dev'))
    expect(ours).toEqual([])
  })

  it('has no folder with more than 15 source files, but for the two with a map in their README', () => {
    const sizes = new Map<string, number>()
    for (const file of files) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1)
    expect([...sizes].filter(([room, size]) => size > 15 && room !== 'apis' && room !== 'cel')).toEqual([])
  })

  it.each([
    ['imports go down only', 'kube/a.ts', "import { x } from '../client/b.ts'"],
    ['imports go down only', 'cel/a.ts', "import type { X } from '../client/b.ts'"],
    ['imports go down only', 'kube/a.ts', "import {\n  x,\n} from '../client/b.ts'"],
    ['imports go down only', 'cel/a.ts', "const b = await import('../apis/b.ts')"],
    ['imports go down only', 'kube/a.ts', "export { x } from '../client/b.ts'"],
    ['imports go down only', 'systems/cleaner/a.ts', "import { x } from '../../apiserver/b.ts'"],
    ['imports go down only', 'notices/a.ts', "import { x } from '../systems/janitor/b.ts'"],
    ['imports go down only', 'queries/a.ts', "import { x } from '../app/b.ts'"],
    ['systems do not know each other', 'systems/cleaner/a.ts', "import { x } from '../janitor/b.ts'"],
    ['decisions do no I/O', 'systems/cleaner/decision/decide.ts', "import fs from 'node:fs'"],
    ['decisions do no I/O', 'systems/promoter/decision/a.ts', "import { x } from '../../../runtime/b.ts'"],
    ['decisions do no I/O', 'systems/janitor/verdict/a.ts', "import { x } from '../../../client/b.ts'"],
    ['decisions do no I/O', 'systems/collector/graph/a.ts', "import net from 'node:net'"],
    [
      'the proxy knows no Kubernetes',
      'systems/activator/proxy/http1/a.ts',
      "import { x } from '../../../../client/b.ts'",
    ],
    [
      "the janitor's lifecycle knows no provider",
      'systems/janitor/cycles/a.ts',
      "import { x } from '../aws/types/image.ts'",
    ],
    ['an import names a file of ours with its .ts or .json suffix', 'client/a.ts', "import { x } from '../kube/b'"],
  ])('would notice that "%s" is broken by %s', (sentence, file, source) => {
    expect(violations(file, source).map((line) => line.split(':')[0])).toEqual([sentence])
  })

  it('would notice a cycle between folders', () => {
    const cycle = cycleAmong([
      { from: 'a/b/x.ts', to: 'a/c/y.ts' },
      { from: 'a/c/z.ts', to: 'a/b/w.ts' },
    ])
    expect(cycle).toEqual(['a/b', 'a/c', 'a/b'])
  })
})
