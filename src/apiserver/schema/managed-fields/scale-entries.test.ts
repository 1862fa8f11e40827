import { describe, expect, it } from 'vitest'
import type { ManagedFieldsEntry } from './managers.ts'
import { fromScaleEntries, toScaleEntries } from './scale-entries.ts'

const mapping = { apiVersion: 'apps/v1', replicasPaths: { 'apps/v1': 'spec.replicas' } }
const entry = (
  manager: string,
  fieldsV1: ManagedFieldsEntry['fieldsV1'],
  apiVersion = 'apps/v1',
): ManagedFieldsEntry => ({
  manager,
  operation: 'Apply',
  apiVersion,
  fieldsType: 'FieldsV1',
  ...(fieldsV1 ? { fieldsV1 } : {}),
})
const replicas = { 'f:spec': { 'f:replicas': {} } }
const more = { 'f:spec': { 'f:replicas': {}, 'f:paused': {} } }

describe('managed fields of /scale', () => {
  it('are those of the owners of replicas', () => {
    expect(toScaleEntries([entry('a', more), entry('b', { 'f:spec': { 'f:paused': {} } })], mapping)).toEqual([
      entry('a', replicas, 'autoscaling/v1'),
    ])
  })

  it('take replicas from who lost them', () => {
    const scaled: ManagedFieldsEntry = { ...entry('scaler', replicas, 'autoscaling/v1'), subresource: 'scale' }
    expect(fromScaleEntries([entry('a', more)], [scaled], mapping)).toEqual([
      entry('a', { 'f:spec': { 'f:paused': {} } }),
      { ...entry('scaler', replicas), subresource: 'scale' },
    ])
  })

  it('keep the replicas of managers that still own them', () => {
    expect(fromScaleEntries([entry('a', more)], [entry('a', replicas, 'autoscaling/v1')], mapping)).toEqual([
      entry('a', more),
    ])
  })
})
