import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parsingThread } from '../../src/parsing/parsing-thread.ts'
import { hostileTexts } from '../parsing/hostile-texts.ts'
import { costOf } from '../parsing/main-thread.ts'
import { cleaner, configMap, refTo } from './manifests.ts'
import { rawRequests } from './raw-request.ts'
import { worlds, type TenantWorld } from './tenant-world.ts'

const configMaps = '/api/v1/namespaces/a/configmaps'
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

describe.each(worlds)('texts of tenants: $name', ({ name: kind, start }) => {
  let world: TenantWorld
  let send: Awaited<ReturnType<typeof rawRequests>>
  beforeAll(async () => {
    world = await start({ roles: ['cleaner', 'promoter'] })
    send = await rawRequests(world, 'tenant')
  })
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
  })

  it.each(hostileTexts)('$name is refused, and others are served', async ({ bytes, type }) => {
    const refused = await send({ path: configMaps, headers: { 'content-type': type }, body: bytes })
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(refused.status).toBeLessThan(500)
    expect((await send({ method: 'GET', path: configMaps })).status).toBe(200)
  })

  it('82: a cycle of a viewer is refused, and others are served', async () => {
    const sendAsViewer = await rawRequests(world, 'viewer')
    const body = 'a: &a\n- *a\n- *a\n'
    const { status } = await sendAsViewer({ path: reviews, headers: { 'content-type': 'application/yaml' }, body })
    expect(status).toBe(400)
    expect((await send({ method: 'GET', path: configMaps })).status).toBe(200)
  })

  it.each(['application/json', 'application/yaml'])(
    '92: __proto__ and constructor are keys as any, in %s',
    async (type) => {
      const name = `keys-of-${type.slice(12)}`
      const body =
        type === 'application/json'
          ? `{"metadata":{"name":"${name}"},"data":{"__proto__":"a","constructor":"b","toString":"c"}}`
          : `metadata: {name: ${name}}\ndata: {__proto__: a, constructor: b, toString: c}`
      const created = await send({ path: configMaps, headers: { 'content-type': type }, body })
      expect([created.status, created.text]).toEqual([201, expect.stringContaining('"__proto__":"a"')])
      const patch = { headers: { 'content-type': 'application/merge-patch+json' }, body: '{"data":{"__proto__":"d"}}' }
      await send({ method: 'PATCH', path: `${configMaps}/${name}`, ...patch })
      const { text } = await send({ method: 'GET', path: `${configMaps}/${name}` })
      expect(Object.entries((JSON.parse(text) as { data: object }).data)).toEqual(
        expect.arrayContaining([
          ['__proto__', 'd'],
          ['constructor', 'b'],
          ['toString', 'c'],
        ]),
      )
    },
  )

  it.each([
    'GET /api/v1/namespaces/%zz/configmaps',
    'GET /apis/%',
    'GET /%ff',
    'POST /approval/%zz/p/e/r',
    'POST /v1/namespaces/%zz/pipelines/p/environments/e/approvals',
    'POST /promotion/%zz/p/e',
  ])('93: %s is refused, not an error of the server', async (line) => {
    const [method = '', path = ''] = line.split(' ')
    const { status } = await send({ method, path })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  it.each(['Strict', 'Warn'])('duplicate keys of YAML are reported as kube-apiserver does: %s', async (validation) => {
    const body = 'metadata:\n  name: twice\ndata:\n  a: b\n  a: c\nspec: {}\n'
    const headers = { 'content-type': 'application/yaml' }
    const { status, text, warnings } = await send({
      path: `${configMaps}?dryRun=All&fieldValidation=${validation}`,
      headers,
      body,
    })
    const line = 'line 5: key "a" already set in map'
    if (validation === 'Strict')
      expect([status, (JSON.parse(text) as { message: string }).message]).toEqual([
        400,
        `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  ${line}, unknown field "spec"`,
      ])
    else expect(warnings).toContain(`299 - ${JSON.stringify(line)}`)
  })

  it.each(['Strict', 'Warn'])(
    'duplicate keys of an apply are reported as kube-apiserver does: %s',
    async (validation) => {
      const body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},\n"data":{"a":"b",\n"a":"c"}}'
      const { status, text, warnings } = await send({
        method: 'PATCH',
        path: `${configMaps}/twice?dryRun=All&fieldManager=me&fieldValidation=${validation}`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body,
      })
      const line = 'line 3: key "a" already set in map'
      if (validation === 'Strict')
        expect([status, (JSON.parse(text) as { message: string }).message]).toEqual([
          400,
          `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${line}`,
        ])
      else expect(warnings).toContain(`299 - ${JSON.stringify(line)}`)
    },
  )

  it.each([
    ['88: a gzip bomb', gzipSync(' '.repeat(64 * 1024 * 1024))],
    ['89: a bomb of many members', Buffer.concat(Array.from({ length: 64 }, () => gzipSync(' '.repeat(1024 * 1024))))],
    ['8: 2,001 documents', gzipSync(JSON.stringify({ name: 'bomb-8', manifest: '---\na: 1\n'.repeat(2001) }))],
  ])('%s in a Helm record leaves the cleaner alive', async (name, bytes) => {
    const release = `bomb-${name.split(':')[0]}`
    const labels = { owner: 'helm', name: release, version: '1', status: 'deployed' }
    const metadata = { namespace: 'a', name: `sh.helm.release.v1.${release}.v1`, labels }
    const data = { release: Buffer.from(bytes.toString('base64')).toString('base64') }
    await world.create('tenant', { apiVersion: 'v1', kind: 'Secret', metadata, type: 'helm.sh/release.v1', data })
    await world.create('tenant', cleaner('a', release, { spec: { helm: { release, delete: true } } }))
    await world.create('tenant', configMap('a', `${release}-other`))
    await world.create('tenant', cleaner('a', `${release}-other`, { deletes: [`${release}-other`] }))
    await world.gone(refTo('a', `${release}-other`))
    expect(await world.get({ apiVersion: 'v1', kind: 'Secret', namespace: 'a', name: metadata.name })).toBeDefined()
  })

  it.runIf(kind === 'embedded')('97: nobody else reads the store', () => {
    const folder = dirname(world.kubeconfig)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.includes('.db'))
    expect(files.length).toBeGreaterThan(0)
    expect(files.map((file) => [file, statSync(join(folder, file)).mode & 0o777])).toEqual(
      files.map((file) => [file, 0o600]),
    )
  })
})

describe('what a refused body costs everybody else', () => {
  afterAll(() => parsingThread.close())

  it.each(hostileTexts)('$name: at most 5 ms of the main thread', async (text) => {
    await costOf({ type: 'application/yaml', bytes: Buffer.from('a: b') })
    const costs = [await costOf(text), await costOf(text), await costOf(text)]
    expect(costs.map(({ refused }) => refused)).not.toContain(undefined)
    expect(Math.min(...costs.map(({ hereMs }) => hereMs))).toBeLessThanOrEqual(5)
  })
})
