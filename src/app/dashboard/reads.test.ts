import { expect, it } from 'vitest'
import { isReadable } from './reads.ts'

it.each([
  '/api/v1/secrets',
  '/api/v1/namespaces/a/secrets',
  '/api/v1/namespaces/a/secrets/tls',
  '/api/v1/namespaces/a/%73ecrets',
  '/api/v1/n%61mespaces/a/secrets',
  '/api/v1/watch/secrets',
  '/api/v1/watch/namespaces/a/secrets',
  '/api//v1/secrets',
  '/api/v1//secrets',
  '/api/v1/configmaps/../secrets',
  '/api/v1/configmaps/%2e%2e/secrets',
  '/api/v1/namespaces/a%2fsecrets',
  '/api/v1/namespaces/a/pods/web/log',
  '/api/v1/namespaces/a/pods/web/%6cog',
  '/api/v1/nodes/n/proxy/x',
  '/apis/%zz',
])('110: the dashboard reads for its pages neither Secrets nor subresources: %s', (path) => {
  expect(isReadable(path)).toBe(false)
})

it.each([
  '/api',
  '/apis',
  '/api/v1',
  '/apis/sojourn.dev/v1alpha1',
  '/api/v1/namespaces',
  '/api/v1/namespaces/a',
  '/api/v1/namespaces/a/configmaps',
  '/apis/sojourn.dev/v1alpha1/namespaces/a/environments/a',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
])('passes on what the pages read: %s', (path) => {
  expect(isReadable(path)).toBe(true)
})
