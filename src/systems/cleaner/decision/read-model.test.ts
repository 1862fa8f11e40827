import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/object.ts'
import { readModel } from './read-model.ts'

const reference = { version: 'v1', kind: 'configmap', name: 'a' }
const aTarget = { name: 'a', reference, includeWhenEvaluating: true }

function problemsOf(spec: unknown, kind = 'Cleaner'): readonly string[] {
  const apiVersion = kind === 'Cleaner' ? 'cleaner.vtex.dev/v1alpha' : 'cleaner.vtex.io/v1alpha1'
  const reading = readModel({ apiVersion, kind, metadata: { name: 'c', namespace: 'team' }, spec } as KubeObject)
  return 'problems' in reading ? reading.problems.map(({ field }) => field) : []
}

describe('readModel', () => {
  it('accepts days and weeks in a Cleaner, Go durations only in a ConditionalTTL', () => {
    expect(problemsOf({ ttl: '15d' })).toEqual([])
    expect(problemsOf({ ttl: '2w' })).toEqual([])
    expect(problemsOf({ ttl: '15d' }, 'ConditionalTTL')).toEqual(['spec.ttl'])
    expect(problemsOf({ ttl: '360h' }, 'ConditionalTTL')).toEqual([])
  })

  it.each<[string, unknown, readonly string[]]>([
    ['no spec', undefined, ['spec']],
    ['no ttl', {}, ['spec.ttl']],
    ['a negative ttl', { ttl: '-1h' }, ['spec.ttl']],
    ['a ttl beyond Go’s', { ttl: '2562048h' }, ['spec.ttl']],
    ['a period below a second', { ttl: '1h', retry: { period: '10ms' } }, ['spec.retry.period']],
    [
      'neither name nor labels',
      { ttl: '1h', targets: [{ name: 'a', reference: { kind: 'x' } }] },
      ['spec.targets[0].reference'],
    ],
    [
      'both name and labels',
      { ttl: '1h', targets: [{ name: 'a', reference: { ...reference, matchLabels: { a: 'b' } } }] },
      ['spec.targets[0].reference'],
    ],
    [
      'an empty selector',
      { ttl: '1h', targets: [{ name: 'a', reference: { kind: 'x', matchLabels: {} } }] },
      ['spec.targets[0].reference'],
    ],
    [
      'an unknown operator',
      {
        ttl: '1h',
        targets: [
          {
            name: 'a',
            reference: { kind: 'x', labelSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] } },
          },
        ],
      },
      ['spec.targets[0].reference'],
    ],
    ['the name time', { ttl: '1h', targets: [{ ...aTarget, name: 'time' }] }, ['spec.targets[0].name']],
    ['a name with a hyphen', { ttl: '1h', targets: [{ ...aTarget, name: 'my-pods' }] }, ['spec.targets[0].name']],
    ['a reserved word', { ttl: '1h', targets: [{ ...aTarget, name: 'namespace' }] }, ['spec.targets[0].name']],
    ['a name twice', { ttl: '1h', targets: [aTarget, aTarget] }, ['spec.targets[1].name']],
    [
      'itself',
      {
        ttl: '1h',
        targets: [
          {
            name: 'me',
            delete: true,
            reference: { apiGroup: 'cleaner.vtex.dev', version: 'v1alpha', kind: 'cleaner', name: 'c' },
          },
        ],
      },
      ['spec.targets[0].reference'],
    ],
    [
      'a condition that does not parse',
      { ttl: '1h', targets: [aTarget], conditions: ['true', 'a.b ==='] },
      ['spec.conditions[1]'],
    ],
    [
      '136: conditions that would take seconds and hundreds of MiB to compile',
      { ttl: '1h', conditions: Array.from({ length: 190 }, () => `[${'1,'.repeat(3900)}1].size() > 0`) },
      ['spec.conditions'],
    ],
    ['an undeclared variable', { ttl: '1h', conditions: ['b == 1'] }, ['spec.conditions[0]']],
    [
      'a target that conditions may not see',
      { ttl: '1h', targets: [{ ...aTarget, includeWhenEvaluating: false }], conditions: ['a.b == 1'] },
      ['spec.conditions[0]'],
    ],
    ['a sink that is no URL', { ttl: '1h', cloudEventSink: 'example' }, ['spec.cloudEventSink']],
    ['a release with a bad name', { ttl: '1h', helm: { release: 'Not OK', delete: true } }, ['spec.helm.release']],
    [
      'a release with 54 characters',
      { ttl: '1h', helm: { release: 'x'.repeat(54), delete: true } },
      ['spec.helm.release'],
    ],
  ])('names the field of %s', (_, spec, fields) => expect(problemsOf(spec)).toEqual(fields))

  it.each(['times', 't', 'timer', '_x'])('allows %s as a name', (name) =>
    expect(problemsOf({ ttl: '1h', targets: [{ ...aTarget, name }] })).toEqual([]),
  )

  it('reports the position of the error in the expression', () => {
    const reading = readModel({
      apiVersion: 'cleaner.vtex.dev/v1alpha',
      kind: 'Cleaner',
      metadata: {},
      spec: { ttl: '1h', conditions: ['true &&\n  nope'] },
    })
    expect(reading).toEqual({ problems: [{ field: 'spec.conditions[0]', message: expect.stringContaining('at 2:3') }] })
  })
})
