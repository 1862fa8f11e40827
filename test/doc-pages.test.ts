import { namespaces } from '../src/kube/core-types.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { pageOf } from '../scripts/kind-page.ts'
import { allKinds } from '../src/apis/all-kinds.ts'
import { startTestServer, type TestServer } from './apiserver/test-server.ts'
import { ownKindsAdmission } from '../src/admission/admission.ts'
import { registerKinds } from '../src/admission/register-kinds.ts'
import { commands } from '../src/cli/commands.ts'
import { Client } from '../src/client/client.ts'
import type { KubeObject } from '../src/kube/object.ts'
import { systemClock } from '../src/runtime/time/clock.ts'
import { sentences } from '../src/apis/pipeline-reasons.ts'
import { reasons } from '../src/systems/cleaner/decision/decide.ts'

const root = join(import.meta.dirname, '..')
const docs = join(root, 'docs')
const pages = ['guide', 'migrate', 'spec', '.'].flatMap((folder) =>
  readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(docs, folder, name)),
)
const textOf = (page: string) => readFileSync(page, 'utf8')

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ clock: systemClock, admission: [ownKindsAdmission] })
  client = new Client(server.transport)
  await registerKinds(client)
})
afterAll(() => server.close())

/** Kinds of other tools, shown beside ours; the embedded server does not serve them. */
const foreign =
  /^(?:argoproj\.io|kube-green\.com|keda\.sh|http\.keda\.sh|[a-z.]*\.fluxcd\.io|fluxcd\.controlplane\.io)\//

const manifests = pages.flatMap((page) =>
  [...textOf(page).matchAll(/^(?:```yaml|kubectl apply -f - <<'END')\n(.*?)^(?:```|END)$/gms)]
    .flatMap(([, block = '']) => parseAllDocuments(block).map((document) => document.toJS() as KubeObject))
    .filter(({ apiVersion }) => apiVersion !== undefined && !foreign.test(apiVersion))
    .map((manifest) => [relative(docs, page), manifest] as const),
)

it.each(manifests)('shows in %s a manifest that the API accepts', async (_, manifest) => {
  const type = await client.discovery.typeOf(manifest)
  if (!type) throw new Error(`${manifest.kind} is not served`)
  const { namespace } = manifest.metadata
  if (namespace)
    await client
      .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      .catch(() => {})
  await expect(
    client.apply(type, manifest, { fieldManager: 'reader', fieldValidation: 'Strict' }),
  ).resolves.toMatchObject({ kind: manifest.kind })
})

it.each(allKinds)('has a page for $kind: purpose, example, reasons, all fields', (kind) => {
  const page = pageOf(kind)
  expect(textOf(join(docs, 'spec/README.md'))).toContain(`[${kind.kind}](${page})`)
  const shown = manifests.filter(([from]) => from === `spec/${page}`).map(([, manifest]) => manifest)
  expect(shown.map(({ apiVersion, kind: name }) => `${apiVersion} ${name}`)).toContain(
    `${kind.apiVersion} ${kind.kind}`,
  )
  const text = textOf(join(docs, 'spec', page))
  for (const part of [/^## (Conditions|State) and reasons|^## Phases/m, /^## Events/m, /^## Metrics/m, /^### spec/m])
    expect(text).toMatch(part)
})

/** The page that has to explain the reasons that a folder's code writes to conditions, statuses and Events. */
const spoken = [
  ['src/systems/cleaner', ['cleaner']],
  ['src/systems/collector', ['bond']],
  ['src/notices', ['notification-channel']],
  ['src/systems/janitor', ['cleanup-policy', 'cleanup-candidate', 'notification-channel']],
  ['src/systems/environments', ['environment', 'environment-class']],
  ['src/systems/promoter', ['pipeline', 'approval']],
  ['src/systems/activator', ['activator']],
  ['src/departures', ['departure']],
] as const

it.each(spoken)('explains every reason that the code of %s uses', (folder, explaining) => {
  const code = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/test/.test(name))
    .map((name) => textOf(join(root, folder, name)))
    .join('\n')
  const words = [
    ...code.matchAll(/reason: (?:.* \? )?'([A-Z][A-Za-z]+)'(?: : '([A-Z][A-Za-z]+)')?/g),
    ...code.matchAll(
      /(?:const reason = .*|say\('\w+', (?:.* \? )?|note\('\w+', )'([A-Z][A-Za-z]+)'(?: : '([A-Z][A-Za-z]+)')?/g,
    ),
  ].flatMap(([, ...found]) => found.filter((word) => word !== undefined))
  const text = explaining.map((page) => textOf(join(docs, 'spec', `${page}.md`))).join('\n')
  if (folder.endsWith('cleaner')) words.push(...Object.values(reasons))
  expect(words.length).toBeGreaterThan(0)
  expect([...new Set(words)].filter((word) => !text.includes(word))).toEqual([])
})

it('lists no reason of a promoter that its code never gives', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?:promoter|git|forges|apis)\/.*\.ts$/.test(name) && !/test|pipeline-reasons/.test(name))
    .map((name) => textOf(join(root, 'src', name)))
  const given = new Set(sources.join('\n').match(/\b[A-Z][A-Za-z]+\b/g))
  expect(Object.keys(sentences).filter((word) => !given.has(word))).toEqual([])
})

it('names only commands and flags that exist', () => {
  const wrong = pages.flatMap((page) =>
    [...textOf(page).matchAll(/(?:^|`)sojourn ([a-z-]+)([^`\n|>#]*)/gm)].flatMap(([, name = '', rest = '']) => {
      if (name === 'help' || (name === 'ready' && rest.startsWith(' api='))) return []
      const command = commands.find((candidate) => candidate.name === name)
      if (!command) return [name]
      // What follows "--" is another program's.
      const [own = ''] = rest.split(' -- ')
      const flags = [...own.matchAll(/ --([a-z-]+)/g)].map(([, flag = '']) => flag)
      return flags.filter((flag) => !(flag in command.flags)).map((flag) => `${name} --${flag}`)
    }),
  )
  expect(wrong).toEqual([])
})

it('names only values that the chart has', () => {
  const values = parse(readFileSync(join(root, 'deploy/chart/values.yaml'), 'utf8')) as Record<string, unknown>
  const isValue = (path: readonly string[]): boolean =>
    path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], values) !== undefined
  // Pages of kinds name their fields; a CleanupPolicy and a class have `limits`, too.
  const maps = Object.keys(values).filter((name) => name !== 'limits' && Object.keys(values[name] ?? {}).length > 0)
  const others = pages.filter((page) => !page.startsWith(join(docs, 'spec')))
  const named = others.flatMap((page) =>
    [...textOf(page).matchAll(/`([a-zA-Z]+(?:\.\w+)+)(?:: [^`]*)?`/g)].map(([, path = '']) => ({ page, path })),
  )
  const meant = named.filter(({ path }) => maps.includes(path.split('.')[0] ?? ''))
  expect(meant.length).toBeGreaterThan(15)
  expect(meant.filter(({ path }) => !isValue(path.replace('ROLE', 'cleaner').split('.')))).toEqual([])
})
