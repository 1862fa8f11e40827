import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeRelease, encodeRelease } from './release-record.ts'
import { planUninstall } from './uninstall-plan.ts'

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

describe('planUninstall', () => {
  const plan = planUninstall(record)

  it('deletes objects in Helm’s uninstall order, unknown kinds last', () => {
    expect(plan.objects.map(({ kind }) => kind)).toEqual(['Service', 'Deployment', 'ConfigMap', 'Widget'])
  })

  it('keeps objects with a keep policy', () => expect(plan.kept.map(({ metadata }) => metadata.name)).toEqual(['s']))

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
  const holder = (kind: string, release: string) => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'sh.helm.release.v1.app.v2' },
    data: { release },
  })

  it.each(['Secret', 'ConfigMap'])('are read and written as the %s driver does', (kind) => {
    const driver = gzipSync(JSON.stringify(record)).toString('base64')
    const stored = kind === 'Secret' ? Buffer.from(driver).toString('base64') : driver
    expect(decodeRelease(holder(kind, stored))).toEqual(record)
    expect(decodeRelease(holder(kind, encodeRelease(record, holder(kind, ''))))).toEqual(record)
  })

  it.each([
    ['nothing', ''],
    ['garbage', 'AAAA'],
    ['something else', Buffer.from('{"a":1}').toString('base64')],
  ])('that hold %s are refused', (_, release) => expect(() => decodeRelease(holder('ConfigMap', release))).toThrow())
})
