import { configMaps, namespaces } from '../../kube/core-types.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../../test/command.ts'
import { readConfig } from '../../app/config/config.ts'
import { startUp, type Up } from '../../app/embedded/up.ts'
import { Client } from '../../client/client.ts'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import type { StoredObject } from '../../kube/object.ts'
import { silentLogger } from '../../runtime/observability/log.ts'

let directory: string
let up: Up
let network: ReturnType<typeof networkTransport>
let client: Client

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cascade-'))
  const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }), {})
  client = new Client(network.transport)
})
afterAll(async () => {
  network.close()
  await up.stop()
  rmSync(directory, { recursive: true })
})

const cascade = (...words: readonly string[]) => runCommand(up.kubeconfig, 'cascade', ...words)

async function create(name: string, owner?: StoredObject, annotations: Record<string, string> = {}) {
  const reference = owner && { apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid }
  const metadata = { name, namespace: 'default', annotations, ...(reference ? { ownerReferences: [reference] } : {}) }
  return client.create<StoredObject>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
}

describe('sojourn cascade', () => {
  it('draws what would be deleted and kept, with reasons, in every format, and changes nothing', async () => {
    const shop = await create('shop')
    const branch = await create('branch', shop)
    await create('leaf', branch)
    await create('kept', shop, { 'sojourn.dev/keep': 'true' })
    const { out, code } = await cascade('cm/shop')
    expect(code).toBe(0)
    expect(out).toBe(
      [
        'ConfigMap/default/shop  deleted',
        '├─ ConfigMap/default/kept  kept: it is protected',
        '└─ ConfigMap/default/branch  deleted',
        '   └─ ConfigMap/default/leaf  deleted',
        '',
        '3 would be deleted, 1 of those reached would be kept.',
        '',
      ].join('\n'),
    )
    const json = JSON.parse((await cascade('cm/shop', '-o', 'json')).out) as { nodes: { ref: { name: string } }[] }
    expect(json).toMatchObject({ policy: 'Background', complete: true, obstacles: [] })
    expect(json.nodes.map(({ ref }) => ref.name)).toEqual(['shop', 'kept', 'branch', 'leaf'])
    expect((await cascade('cm/shop', '-o', 'yaml')).out).toContain('because: owners-gone')
    expect((await cascade('cm/shop', '-o', 'dot')).out).toContain(`"${shop.metadata.uid}" -> "${branch.metadata.uid}";`)
    const { out: mermaid } = await cascade('cm/shop', '-o', 'mermaid')
    expect(mermaid).toMatch(/^flowchart TD\n {2}n0\["ConfigMap\/default\/shop: deleted"\]\n/)
    expect(mermaid).toContain('  n0 --> n2\n')
    expect((await cascade('cm/shop', '--policy', 'orphan')).out).toContain('kept, without its owner')
    expect((await client.get<StoredObject>(configMaps, { namespace: 'default', name: 'shop' })).metadata).toEqual(
      shop.metadata,
    )
  })

  it('draws the contents of a namespace below their owners, also in a cycle of owners', async () => {
    await client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'inside' },
    })
    const inside = async (name: string, ...owners: readonly StoredObject[]) => {
      const ownerReferences = owners.map(({ metadata: { uid, name: its } }) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: its,
        uid,
      }))
      const metadata = { name, namespace: 'inside', ownerReferences }
      return client.create<StoredObject>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    }
    // Named so that dependents are listed before their owners.
    const owner = await inside('c-owner')
    await inside('a-leaf', await inside('b-branch', owner))
    const ring = await inside('d-ring')
    const other = await inside('e-ring', ring)
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'e-ring', uid: other.metadata.uid }]
    await client.patch(
      configMaps,
      { namespace: 'inside', name: 'd-ring' },
      { type: 'merge', body: { metadata: { ownerReferences } } },
    )
    const { out } = await cascade('namespace/inside')
    const lines = out.split('\n').filter((line) => /^Namespace|-(leaf|branch|owner|ring)/.test(line))
    expect(lines).toEqual([
      'Namespace/inside  deleted',
      '├─ ConfigMap/inside/c-owner  deleted',
      '│  └─ ConfigMap/inside/b-branch  deleted',
      '│     └─ ConfigMap/inside/a-leaf  deleted',
      '├─ ConfigMap/inside/d-ring  deleted',
      '│  └─ ConfigMap/inside/e-ring  deleted',
    ])
    const { out: mermaid } = await cascade('namespace/inside', '-o', 'mermaid')
    const number = (name: string) => new RegExp(`n(\\d+)\\["ConfigMap/inside/${name}`).exec(mermaid)?.[1]
    expect(mermaid).toContain(`  n${number('b-branch')} --> n${number('a-leaf')}\n`)
  })

  it('prints the level of objects that are too deep to draw', async () => {
    let owner = await create('level-0')
    for (let level = 1; level <= 60; level++) owner = await create(`level-${level}`, owner)
    const { out } = await cascade('cm/level-0')
    expect(out).toContain('… level 60: ConfigMap/default/level-60  deleted\n')
    expect(out).toContain('61 would be deleted')
  })

  it.each([
    [['cm/shop', '-o', 'wide'], '--output is "wide": it must be table, json, yaml, dot or mermaid'],
    [['cm/shop', '--policy', 'sideways'], '--policy is "sideways"'],
    [['shop'], '"shop" must be KIND/NAME'],
  ])('refuses %j', async (words, message) => {
    expect(await cascade(...words)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
  })
})
