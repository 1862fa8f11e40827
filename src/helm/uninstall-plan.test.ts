import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { encodeRelease, readRelease } from './release-record.ts'
import { read } from './release-text.ts'
import { planUninstall } from './uninstall-plan.ts'

const mib = 1024 * 1024
const document = (kind: string, name: string, annotations = '') =>
  `---\napiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${annotations}`
const record = {
  name: 'app',
  namespace: 'team',
  version: 2,
  info: { status: 'deployed' },
  manifest: [
    document('ConfigMap', 'c'),
    document('Secret', 's', '  annotations: {helm.sh/resource-policy: keep}\n'),
    document('Widget', 'w'),
    document('Deployment', 'd'),
    document('Service', 'v'),
  ].join('\n'),
  hooks: [
    {
      name: 'late',
      kind: 'Job',
      events: ['pre-delete'],
      weight: 5,
      manifest: document('Job', 'late'),
      delete_policies: ['hook-succeeded'],
    },
    {
      name: 'early',
      kind: 'Job',
      events: ['pre-delete', 'post-install'],
      weight: -1,
      manifest: document('Job', 'early'),
    },
    { name: 'after', kind: 'Job', events: ['post-delete'], manifest: document('Job', 'after') },
    { name: 'other', kind: 'Job', events: ['pre-install'], manifest: document('Job', 'other') },
  ],
}

function encoded(value: unknown): string {
  return gzipSync(JSON.stringify(value)).toString('base64')
}

describe('planUninstall', () => {
  const plan = planUninstall(read({ kind: 'ConfigMap', release: encoded(record) }))

  it('deletes objects in Helm’s uninstall order, unknown kinds last', () => {
    expect(plan.objects.map(({ kind }) => kind)).toEqual(['Service', 'Deployment', 'ConfigMap', 'Widget'])
  })

  it('keeps objects with a keep policy', () => expect(plan.objects.map(({ kind }) => kind)).not.toContain('Secret'))

  it('runs delete hooks by weight, with their policies', () => {
    expect(
      plan.before.map(({ object, deleteBefore, deleteWhen }) => [object.metadata.name, deleteBefore, deleteWhen]),
    ).toEqual([
      ['early', true, []],
      ['late', false, ['succeeded']],
    ])
    expect(plan.after.map(({ object }) => object.metadata.name)).toEqual(['after'])
  })
})

describe('release records', () => {
  const holder = (kind: string, release: string, uid = 'uid') => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'sh.helm.release.v1.app.v2', uid, resourceVersion: '1', creationTimestamp: '' },
    data: { release },
  })

  it.each(['Secret', 'ConfigMap'])('are read and written as the %s driver does', async (kind) => {
    const driver = encoded(record)
    const stored = kind === 'Secret' ? Buffer.from(driver).toString('base64') : driver
    const first = await readRelease(holder(kind, stored))
    expect(first).toMatchObject(record)
    const written = await encodeRelease(first, holder(kind, ''))
    expect(await readRelease(holder(kind, written))).toEqual(first)
    const driverText = kind === 'Secret' ? Buffer.from(written, 'base64').toString() : written
    expect(JSON.parse(gunzipSync(Buffer.from(driverText, 'base64')).toString())).toEqual(record)
  })

  it.each([
    ['nothing', ''],
    ['garbage', 'AAAA'],
    ['something else', Buffer.from('{"a":1}').toString('base64')],
    ['hooks without a name', encoded({ ...record, hooks: [{ manifest: '', events: [] }] })],
    ['hooks that are no list', encoded({ ...record, hooks: { a: 1 } })],
  ])('that hold %s are refused', (_, release) => {
    expect(() => read({ kind: 'ConfigMap', release })).toThrow(expect.objectContaining({ because: 'syntax' }))
  })

  it.each([
    ['8: 2,001 documents', encoded({ ...record, manifest: '---\na: 1\n'.repeat(2001) }), 'documents'],
    [
      '8: 2,001 documents in hooks',
      encoded({
        ...record,
        hooks: Array.from({ length: 3 }, () => ({ name: 'a', events: [], manifest: '---\na: 1\n'.repeat(667) })),
      }),
      'documents',
    ],
    [
      '8: 201 hooks',
      encoded({ ...record, hooks: Array.from({ length: 201 }, () => ({ name: 'a', events: [], manifest: '' })) }),
      'nodes',
    ],
    ['88: a gzip bomb', gzipSync(' '.repeat(64 * mib)).toString('base64'), 'bytes'],
    [
      '89: many members that are small each',
      Buffer.concat(Array.from({ length: 17 }, () => gzipSync(' '.repeat(mib)))).toString('base64'),
      'bytes',
    ],
    ['88: a large manifest', encoded({ ...record, manifest: '#'.repeat(4 * mib + 1) }), 'bytes'],
    ['82: a cycle in a manifest', encoded({ ...record, manifest: 'a: &a\n- *a\n- *a\n' }), 'depth'],
  ])('are refused with %s', (_, release, because) => {
    expect(() => read({ kind: 'ConfigMap', release })).toThrow(expect.objectContaining({ because }))
  })

  it('are refused once per version, not read again', async () => {
    const bomb = holder('ConfigMap', gzipSync(' '.repeat(64 * mib)).toString('base64'), 'bomb')
    const refusal = await readRelease(bomb).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ because: 'bytes' })
    expect(await readRelease(bomb).catch((error: unknown) => error)).toBe(refusal)
    const changed = {
      ...bomb,
      metadata: { ...bomb.metadata, resourceVersion: '2' },
      data: { release: encoded(record) },
    }
    expect(await readRelease(changed)).toMatchObject({ name: 'app' })
  })
})
