import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { departureRecord, manifestOf, recordName } from './record.ts'

const secret: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'db',
    namespace: 'team',
    uid: 'u1',
    resourceVersion: '5',
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"aHVudGVyMg=="}}',
      team: 'a',
    },
  },
  data: { password: 'aHVudGVyMg==' },
}

describe('departureRecord', () => {
  it('never holds the data of a Secret, nor kubectl’s copy of it', () => {
    const text = JSON.stringify(
      departureRecord({ cluster: '', object: secret, because: 'expired', by: { system: 'cleaner' }, now: 0 }),
    )
    expect(text).not.toContain('aHVudGVyMg==')
    expect(manifestOf(secret)).toMatchObject({ data: { password: '' }, metadata: { annotations: { team: 'a' } } })
  })

  it('has one name per object and cluster, and a legal one', () => {
    expect(recordName('', secret)).toBe(recordName('', secret))
    expect(recordName('', secret)).not.toBe(recordName('far', secret))
    expect(recordName('', secret)).not.toBe(recordName('', { ...secret, metadata: { ...secret.metadata, uid: 'u2' } }))
    const odd = { ...secret, metadata: { ...secret.metadata, name: `system:${'x'.repeat(300)}_Y` } }
    expect(recordName('', odd)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
    expect(recordName('', odd).length).toBeLessThan(240)
  })

  it('keeps what a restore needs and leaves what the server fills in', () => {
    const object = {
      ...secret,
      kind: 'ConfigMap',
      status: { x: 1 },
      metadata: { ...secret.metadata, generation: 3, managedFields: [{}], finalizers: ['a/b'] },
    }
    expect(manifestOf(object)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'db', namespace: 'team', annotations: secret.metadata.annotations, finalizers: ['a/b'] },
      data: secret.data,
    })
  })
})
