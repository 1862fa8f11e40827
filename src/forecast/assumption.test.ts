import { describe, expect, it } from 'vitest'
import { assumptionSentence, readAssumption } from './assumption.ts'

const now = Date.parse('2026-03-02T10:00:00Z')
const hour = 3_600_000
const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n'
const read = (text: string) => readAssumption(text, { now, readFile: () => manifest })

describe('an assumption', () => {
  it.each([
    [
      'delete:configmap/team/old',
      { assume: 'deleted', at: now, target: { kind: 'configmap', namespace: 'team', name: 'old' } },
    ],
    [
      'delete:namespace/team@36h',
      { assume: 'deleted', at: now + 36 * hour, target: { kind: 'namespace', name: 'team' } },
    ],
    ['opt-out:deploy/team/shop@+2d', { assume: 'opted-out', at: now + 48 * hour }],
    ['opt-out:deploy/team/shop@2026-03-03T10:00:00Z', { assume: 'opted-out', at: now + 24 * hour }],
    ['approve:team/shop/prod@1h', { assume: 'approved', at: now + hour, pipeline: 'shop', environment: 'prod' }],
    ['merge:2h', { assume: 'merged', afterMs: 2 * hour }],
    ['rollout:never', { assume: 'rolled-out', afterMs: Infinity }],
    ['policy.yaml@1d', { assume: 'applied', at: now + 24 * hour, from: 'policy.yaml' }],
  ])('%s', (text, expected) => {
    expect(read(text)).toMatchObject(expected)
    expect(assumptionSentence(read(text))).not.toContain('undefined')
  })

  it.each([
    ['delete:configmap', 'an object is KIND/NAMESPACE/NAME'],
    ['delete:a/b/c/d', 'an object is KIND/NAMESPACE/NAME'],
    ['delete:configmap/team/old@yesterday', 'is not a time in the future'],
    ['delete:configmap/team/old@2020-01-01T00:00:00Z', 'is not a time in the future'],
    ['approve:shop/prod', 'approve:NAMESPACE/PIPELINE/ENVIRONMENT'],
    ['merge:soon', 'a duration looks like'],
  ])('%s is refused with the expected syntax', (text, problem) => expect(() => read(text)).toThrow(problem))

  it('is refused when its file holds no manifests', () => {
    const readFile = () => 'just: text'
    expect(() => readAssumption('a.yaml', { now, readFile })).toThrow('needs apiVersion, kind and metadata.name')
    expect(() => readAssumption('a.yaml', { now, readFile: () => 'a: [' })).toThrow('is not YAML')
  })
})
