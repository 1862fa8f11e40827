import { describe, expect, it } from 'vitest'
import type { SavingsRow } from '../../../apis/savings-report.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { mergedRows } from './accrue.ts'
import { releasedBy, sleepOf } from './released.ts'

const row = (namespace: string, owner: string): SavingsRow => ({
  system: 'environments',
  state: 'Asleep',
  currency: 'USD',
  namespace,
  owner,
  cost: 1,
})

describe('131: a tenant', () => {
  it('131: who names another owner every minute takes no room from other namespaces', () => {
    const owners = Array.from({ length: 3000 }, (_, index) => row('a', `u${index}@example.org`))
    const rows = mergedRows([], [...owners, row('b', 'bob@example.org')])
    expect(rows.length).toBeLessThan(100)
    expect(rows.find(({ namespace }) => namespace === 'b')).toEqual(row('b', 'bob@example.org'))
    const own = rows.filter(({ namespace }) => namespace === 'a')
    expect(own.reduce((sum, { cost = 0 }) => sum + cost, 0)).toBe(3000)
  })

  it('131: whose owner is longer than a report may be counts without one', () => {
    expect(mergedRows([], [row('a', 'x'.repeat(200_000))])).toEqual([
      expect.not.objectContaining({ owner: expect.anything() as string }),
    ])
  })

  it.each(['1e400', '9E', '5000'])('131: saves nothing by a Pod that requests %s cores: no machine has them', (cpu) => {
    const spec = { replicas: 0, template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } } }
    const annotations = { 'sojourn.dev/former-replicas': '2', 'sojourn.dev/asleep-since': '2026-01-01T00:00:00Z' }
    const metadata = { namespace: 'a', name: 'liar', uid: '1', resourceVersion: '1', annotations }
    const deployment: object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec }
    expect(sleepOf(deployment as StoredObject)?.amounts).toMatchObject({ cpu: 0, memory: 0, gpu: 0 })
    expect(releasedBy(deployment as StoredObject)).toMatchObject({ cpu: 0, memory: 0, gpu: 0 })
  })
})
