import { describe, expect, it } from 'vitest'
import { negotiateDiscovery, negotiateEncoding, negotiateForm } from './accept.ts'

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'

describe('negotiateForm', () => {
  it.each([
    [undefined, { as: 'Object', version: 'v1' }],
    ['*/*', { as: 'Object', version: 'v1' }],
    [`${table},application/json`, { as: 'Table', version: 'v1' }],
    [`application/json;as=Table;v=v9;g=meta.k8s.io,application/json`, { as: 'Object', version: 'v1' }],
    [`application/json;q=0.5,${table};q=0.9`, { as: 'Table', version: 'v1' }],
    ['application/vnd.kubernetes.protobuf,application/json', { as: 'Object', version: 'v1' }],
    [
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      { as: 'PartialObjectMetadata', version: 'v1' },
    ],
    ['application/vnd.kubernetes.protobuf', { as: 'Object', version: 'v1' }],
    ['application/yaml', { as: 'Object', version: 'v1' }],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io', undefined],
    ['text/html', undefined],
    ['application/json;q=0', undefined],
  ])('answers %s', (accept, expected) => expect(negotiateForm(accept)).toEqual(expected))
})

describe('negotiateEncoding', () => {
  it.each([
    [undefined, undefined],
    ['application/json', undefined],
    ['application/yaml', 'yaml'],
    ['application/json,application/yaml', undefined],
    ['application/vnd.kubernetes.protobuf', 'protobuf'],
    // Objects are stored as JSON: clients that also accept it get it.
    ['application/vnd.kubernetes.protobuf,application/json', undefined],
    ['application/vnd.kubernetes.protobuf, */*', undefined],
  ])('writes for %s', (accept, expected) =>
    expect(negotiateEncoding({ headers: accept ? { accept } : {}, query: {} })).toBe(expected),
  )

  it('indents JSON when asked', () => {
    expect(negotiateEncoding({ headers: {}, query: { pretty: 'true' } })).toBe('pretty')
    expect(negotiateEncoding({ headers: {}, query: { pretty: 'false' } })).toBeUndefined()
  })
})

describe('negotiateDiscovery', () => {
  const form = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`

  it.each([
    [`${form('v2')},${form('v2beta1')},application/json`, 'v2'],
    [`${form('v2beta1')},application/json`, 'v2beta1'],
    [`${form('v3')},application/json`, 'plain'],
    ['application/json', 'plain'],
    [undefined, 'plain'],
    ['text/html', undefined],
  ])('never answers %s with a version that was not asked for', (accept, expected) =>
    expect(negotiateDiscovery(accept)).toBe(expected),
  )
})
