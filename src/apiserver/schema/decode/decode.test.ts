import { describe, expect, it } from 'vitest'
import { kindOf } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { customSchema } from '../custom/custom-schema.ts'
import { decodeObject, strictError, strictFindings } from './decode.ts'
import { parseJson } from '../wire/json-text.ts'
import { builtinSchema, type ObjectSchema } from '../types/object-schema.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'

interface Body {
  readonly text: string
  readonly message?: string
}

/** The message of a strict request with this body; undefined when it is accepted. */
function strictly(text: string): string | undefined {
  const { value, duplicates } = parseJson(text)
  const gvk = kindOf(value as { apiVersion: string; kind: string })
  try {
    const { unknown } = decodeObject(schemaOf(gvk), value)
    const findings = strictFindings({
      unknown,
      duplicates: duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    })
    return findings ? strictError(gvk, findings).message : undefined
  } catch (error) {
    if (isStatusError(error, 'BadRequest')) return error.message
    throw error
  }
}

function schemaOf(gvk: { group: string; version: string; kind: string }): ObjectSchema {
  const schema = builtinSchema(gvk)
  if (!schema) throw new Error(`no schema for ${gvk.kind}`)
  return schema
}

const deployment = schemaOf({ group: 'apps', version: 'v1', kind: 'Deployment' })

describe('decodeObject', () => {
  it.each(recorded<readonly Body[]>('decoded-bodies').map(({ text, message }) => [text, message] as const))(
    'answers a strict request as the API does: %s',
    (text, message) => expect(strictly(text)).toBe(message),
  )

  it('drops nulls, empty lists and zeros that Go does not write', () => {
    const { object } = decodeObject(deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', labels: {}, finalizers: [], annotations: null },
      spec: { replicas: 0, paused: false, template: { spec: { containers: [], nodeName: '' } } },
    })
    expect(object).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 0, selector: null, strategy: {}, template: { metadata: {}, spec: { containers: [] } } },
      status: {},
    })
  })

  it('keeps an empty list of managers: it asks to forget them', () => {
    const { object } = decodeObject(deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { managedFields: [] },
    })
    expect(object.metadata.managedFields).toEqual([])
  })

  it('keeps a __proto__ key as a key', () => {
    const value: unknown = JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","data":{"__proto__":"x"}}')
    const { object } = decodeObject(schemaOf({ group: '', version: 'v1', kind: 'ConfigMap' }), value)
    expect(Object.keys(object.data as object)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(object.data)).toBe(Object.prototype)
  })

  it('writes quantities and times in one way', () => {
    const { object } = decodeObject(schemaOf({ group: '', version: 'v1', kind: 'ResourceQuota' }), {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { creationTimestamp: '2026-01-02T04:04:05.6+01:00' },
      spec: { hard: { cpu: '1000m', memory: '1024Mi', pods: 5 } },
    })
    expect(object.metadata.creationTimestamp).toBe('2026-01-02T03:04:05Z')
    expect(object.spec).toEqual({ hard: { cpu: '1', memory: '1Gi', pods: '5' } })
  })

  it('names what a custom resource has and its schema has not', () => {
    const schema = customSchema(
      { group: 'ex.io', version: 'v1', kind: 'Foo' },
      { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } } },
    )
    const { object, unknown } = decodeObject(schema, {
      metadata: { name: 'x', nope: 1 },
      spec: { a: 'b', c: 1 },
      other: 1,
    })
    expect(unknown).toEqual(['metadata.nope', 'other', 'spec.c'])
    expect(object).toEqual({ apiVersion: 'ex.io/v1', kind: 'Foo', metadata: { name: 'x' }, spec: { a: 'b' } })
  })

  it('keeps everything of a custom resource without a schema', () => {
    const schema = customSchema({ group: 'ex.io', version: 'v1', kind: 'Foo' }, undefined)
    expect(decodeObject(schema, { metadata: {}, x: { y: [null] } })).toMatchObject({
      object: { x: { y: [null] } },
      unknown: [],
    })
  })
})
