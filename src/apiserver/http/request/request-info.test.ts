import { describe, expect, it } from 'vitest'
import { requestInfo, selectedName, type ResourceRequest } from './request-info.ts'

const resource = (wanted: Partial<ResourceRequest>): ResourceRequest => ({
  kind: 'resource',
  verb: 'get',
  group: '',
  version: 'v1',
  namespace: '',
  resource: 'pods',
  subresource: '',
  name: '',
  ...wanted,
})

describe('requestInfo', () => {
  it.each([
    ['GET', '/api/v1/pods', {}, resource({ verb: 'list' })],
    ['GET', '/api/v1/namespaces/n/pods', { watch: 'true' }, resource({ verb: 'watch', namespace: 'n' })],
    ['GET', '/api/v1/namespaces/n/pods/p', {}, resource({ namespace: 'n', name: 'p' })],
    ['GET', '/api/v1/namespaces/n/pods/p/log', {}, resource({ namespace: 'n', name: 'p', subresource: 'log' })],
    ['POST', '/api/v1/namespaces/n/pods', {}, resource({ verb: 'create', namespace: 'n' })],
    ['DELETE', '/api/v1/namespaces/n/pods', {}, resource({ verb: 'deletecollection', namespace: 'n' })],
    [
      'PATCH',
      '/apis/apps/v1/namespaces/n/deployments/d/scale',
      {},
      resource({
        verb: 'patch',
        group: 'apps',
        namespace: 'n',
        resource: 'deployments',
        name: 'd',
        subresource: 'scale',
      }),
    ],
    [
      'PUT',
      '/apis/g.example/v1beta1/things/t',
      {},
      resource({ verb: 'update', group: 'g.example', version: 'v1beta1', resource: 'things', name: 't' }),
    ],
  ])('reads %s %s', (method, path, query, expected) => {
    expect(requestInfo(method, path, query as Record<string, string>)).toEqual(expected)
  })

  it('puts a Namespace into itself, so that a Role there can grant it', () => {
    const expected = resource({ namespace: 'n', resource: 'namespaces', name: 'n' })
    expect(requestInfo('GET', '/api/v1/namespaces/n')).toEqual(expected)
    expect(requestInfo('PUT', '/api/v1/namespaces/n/finalize')).toEqual({
      ...expected,
      verb: 'update',
      subresource: 'finalize',
    })
  })

  it.each([
    '/',
    '/api',
    '/apis',
    '/api/v1',
    '/apis/apps',
    '/apis/apps/v1',
    '/healthz',
    '/openapi/v3/apis/apps/v1',
    '/apix/v1/pods',
  ])('takes %s for a plain path', (path) =>
    expect(requestInfo('GET', path)).toEqual({ kind: 'path', verb: 'get', path }),
  )

  it.each([
    ['PUT', '/api/v1/namespaces/n/pods'],
    ['PATCH', '/api/v1/pods'],
    ['POST', '/api/v1/namespaces/n/pods/p'],
    ['TRACE', '/api/v1/pods'],
    ['GET', '/api/v1/namespaces/n/pods/p/log/deeper'],
  ])('has no meaning for %s %s', (method, path) => expect(requestInfo(method, path)).toBeUndefined())

  it('refuses an escape that is none', () => {
    expect(() => requestInfo('GET', '/api/v1/%zz')).toThrow('invalid URL escape')
  })

  it.each([
    ['metadata.name=x', 'x'],
    ['a=b,metadata.name==x', 'x'],
    ['metadata.name!=x', ''],
    ['', ''],
  ])('knows the one name that %s selects', (fieldSelector, expected) => {
    expect(selectedName(resource({ verb: 'list' }), { fieldSelector })).toBe(expected)
  })
})
