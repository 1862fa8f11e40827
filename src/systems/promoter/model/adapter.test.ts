import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import { adapterFor, compileAdapter, markerValue } from './adapter.ts'

const ready = (status: string, observedGeneration?: number) => [
  { type: 'Ready', status, ...(observedGeneration === undefined ? {} : { observedGeneration }) },
]

function read(
  apiVersion: string,
  kind: string,
  status: unknown,
  over: { generation?: number; deletionTimestamp?: string } = {},
  wishes = {},
) {
  const metadata = {
    name: 'app',
    namespace: 'a',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    generation: 2,
    ...over,
  }
  const object = { apiVersion, kind, metadata, spec: {}, status } as StoredObject
  return adapterFor({ apiVersion, kind, name: 'app' }, compileAdapter(wishes))(object)
}

const ok = (ready: boolean, revision: string | undefined, fresh = true) => ({ read: 'ok', ready, revision, fresh })

const digest = `sha256:${'1'.repeat(64)}`

describe('an application', () => {
  it.each([
    [
      'Kustomization',
      'kustomize.toolkit.fluxcd.io/v1',
      { observedGeneration: 2, conditions: ready('True'), lastAppliedRevision: 'main@sha1:abc' },
      ok(true, 'main@sha1:abc'),
    ],
    [
      'HelmRelease',
      'helm.toolkit.fluxcd.io/v2beta1',
      { observedGeneration: 2, conditions: ready('True'), lastAppliedRevision: '1.0.0' },
      ok(true, '1.0.0'),
    ],
    [
      'HelmRelease',
      'helm.toolkit.fluxcd.io/v2beta2',
      { observedGeneration: 2, conditions: ready('True'), lastAppliedRevision: '1.0.0' },
      ok(true, '1.0.0'),
    ],
    [
      'HelmRelease',
      'helm.toolkit.fluxcd.io/v2',
      {
        observedGeneration: 2,
        conditions: ready('True'),
        history: [
          { version: 3, status: 'failed', chartVersion: '1.2.0' },
          { version: 1, status: 'superseded', chartVersion: '1.0.0' },
          { version: 2, status: 'deployed', chartVersion: '1.1.0' },
        ],
      },
      ok(true, '1.1.0'),
    ],
    [
      'HelmRelease',
      'helm.toolkit.fluxcd.io/v2',
      {
        observedGeneration: 2,
        conditions: ready('True'),
        history: [{ version: 2, status: 'deployed', chartVersion: '1.1.0+111111111111', ociDigest: digest }],
      },
      ok(true, `1.1.0@${digest}`),
    ],
    [
      'HelmRelease',
      'helm.toolkit.fluxcd.io/v2',
      {
        observedGeneration: 2,
        conditions: ready('True'),
        history: [{ version: 2, status: 'deployed', chartVersion: '1.1.0+build.7', ociDigest: digest }],
      },
      ok(true, '1.1.0+build.7'),
    ],
    [
      'Terraform',
      'infra.contrib.fluxcd.io/v1alpha2',
      { observedGeneration: 2, conditions: ready('False'), lastAppliedRevision: 'main/abc' },
      ok(false, 'main/abc'),
    ],
    [
      'Application',
      'argoproj.io/v1alpha1',
      { sync: { status: 'Synced', revision: 'abc' }, health: { status: 'Healthy' } },
      ok(true, 'abc'),
    ],
    [
      'Application',
      'argoproj.io/v1alpha1',
      { sync: { status: 'OutOfSync', revision: 'abc' }, health: { status: 'Healthy' } },
      ok(false, 'abc'),
    ],
    [
      'Application',
      'argoproj.io/v1alpha1',
      { sync: { status: 'Synced', revision: 'abc' }, health: { status: 'Degraded' } },
      ok(false, 'abc'),
    ],
    [
      'Application',
      'argoproj.io/v1alpha1',
      {
        sync: { status: 'Synced', revision: 'abc' },
        health: { status: 'Healthy' },
        operationState: { phase: 'Running' },
      },
      ok(false, 'abc'),
    ],
    [
      'Application',
      'argoproj.io/v1alpha1',
      { sync: { status: 'Synced', revisions: ['a', 'b'] }, health: { status: 'Healthy' } },
      ok(true, 'a,b'),
    ],
    ['Anything', 'acme.test/v1', undefined, ok(false, undefined)],
  ])('of kind %s in %s is read as its controller means it', (kind, apiVersion, status, expected) => {
    expect(read(apiVersion, kind, status)).toMatchObject(expected)
  })

  it.each([
    [
      'whose status is of an older generation is not fresh',
      { observedGeneration: 1, conditions: ready('True'), lastAppliedRevision: 'r' },
      ok(true, 'r', false),
    ],
    [
      'whose condition is of an older generation is not fresh',
      { conditions: ready('True', 1), lastAppliedRevision: 'r' },
      ok(true, 'r', false),
    ],
    ['its controller has not seen yet is not ready, and not stale', { observedGeneration: -1 }, ok(false, undefined)],
  ])('%s', (_, status, expected) =>
    expect(read('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', status)).toMatchObject(expected),
  )

  it('that is being deleted is not ready', () => {
    const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' }
    expect(read('acme.test/v1', 'X', { conditions: ready('True'), lastAppliedRevision: 'r' }, leaving)).toMatchObject({
      ready: false,
    })
    expect(read('acme.test/v1', 'X', {}, leaving, { healthy: 'true', revision: '"r"' })).toMatchObject({ ready: false })
  })

  it('of a kind that no adapter reads says what it needs', () => {
    const message = expect.stringContaining('needs spec.adapter') as string
    expect(read('apps/v1', 'Deployment', { readyReplicas: 1 })).toMatchObject({ ready: false, message })
  })

  it('of any kind is read by two expressions', () => {
    const wishes = {
      healthy: 'self.status.replicas == self.status.readyReplicas',
      revision: 'self.status.image.split(":")[1]',
    }
    expect(read('acme.test/v1', 'X', { replicas: 2, readyReplicas: 2, image: 'app:1.2.3' }, {}, wishes)).toMatchObject(
      ok(true, '1.2.3'),
    )
    expect(read('acme.test/v1', 'X', { replicas: 2, readyReplicas: 1, image: 'app:1.2.3' }, {}, wishes)).toMatchObject(
      ok(false, '1.2.3'),
    )
  })

  it.each([
    ['does not compile', { healthy: 'self.' }, /adapter.healthy/],
    ['fails', { revision: 'self.status.nothing' }, /adapter.revision/],
    ['gives something else', { healthy: '"yes"' }, /not a boolean/],
    [
      'costs too much',
      {
        healthy:
          '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a+b+c+d+e > 0)))))',
      },
      /adapter.healthy/,
    ],
  ])('whose expression %s is invalid, with the reason', (_, wishes, message) => {
    expect(read('acme.test/v1', 'X', {}, {}, wishes)).toMatchObject({
      read: 'invalid',
      message: expect.stringMatching(message),
    })
  })
})

describe('the value for the marker', () => {
  it('is computed from the revision', () => {
    expect(markerValue('revision.split(":")[1]', 'main@sha1:abc123')).toBe('abc123')
  })

  it.each(['revision.split(":")[7]', 'nonsense(', '1 + 1', '""'])(
    'is refused for good when %s gives none',
    (expression) => {
      expect(() => markerValue(expression, 'main')).toThrow(
        expect.objectContaining({ kind: 'Permanent', because: 'ValueInvalid' }),
      )
    },
  )
})
