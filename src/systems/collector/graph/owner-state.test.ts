import { describe, expect, it } from 'vitest'
import type { ObjectMeta, StoredObject } from '../../../kube/object.ts'
import type { OwnerState } from '../../../kube/owner-rule.ts'
import { ownerStateFor } from './cycles.ts'

const object = (name: string, metadata: ObjectMeta = {}): StoredObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '', namespace: 'team', ...metadata },
})
const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'owner' }
const deletionTimestamp = '2026-01-05T08:00:00Z'

describe('an owner', () => {
  it.each<[string, ObjectMeta, OwnerState]>([
    ['that lives keeps its dependents', {}, 'solid'],
    ['that waits for a finalizer of others keeps them', { deletionTimestamp, finalizers: ['x.dev/y'] }, 'solid'],
    [
      'that goes in the foreground waits for them',
      { deletionTimestamp, finalizers: ['foregroundDeletion'] },
      'waiting',
    ],
    ['that was not told to go is not held to be going', { finalizers: ['foregroundDeletion'] }, 'solid'],
    ['in another namespace is none', { namespace: 'other' }, 'dangling'],
  ])('%s', (_, metadata, state) =>
    expect(ownerStateFor(object('dependent'), reference, object('owner', metadata))).toBe(state),
  )
})
