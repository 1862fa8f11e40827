import { describe, expect, it } from 'vitest'
import { negotiateDiscovery, negotiateForm } from './accept.ts'

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
    ['application/vnd.kubernetes.protobuf', undefined],
    ['text/html', undefined],
    ['application/json;q=0', undefined],
  ])('answers %s', (accept, expected) => expect(negotiateForm(accept)).toEqual(expected))
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
