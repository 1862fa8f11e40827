import { expect, it } from 'vitest'
import { planOrdinals } from './stateful-sets.ts'

it.each(['OrderedReady', 'Parallel'] as const)('creates few of very many Pods at a time: %s', (podManagementPolicy) => {
  const metadata = { name: 'x', uid: 'x', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }
  const template = { spec: { containers: [] } }
  const spec = { replicas: 2 ** 31 - 1, selector: {}, template, podManagementPolicy }
  const { create } = planOrdinals({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec }, [])
  expect([create.length, create[0]]).toEqual([podManagementPolicy === 'Parallel' ? 200 : 1, 0])
})
