import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/time/clock.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { recorded } from '../../../test/apiserver/recorded/recorded.ts'
import { bytesBody, UnreadableBody } from './request/body.ts'
import { decodeObjectBody } from './request/object-body.ts'
import { parseAccept } from './request/accept.ts'
import { StatusError } from '../../kube/status-error.ts'

/** How long each property may look for a counterexample. */
const budget = { interruptAfterTimeLimit: 2500, markInterruptAsFailure: false, numRuns: 3000 }

const protobuf = 'application/vnd.kubernetes.protobuf'

const word = fc.oneof(
  fc.constantFrom(
    '',
    'api',
    'apis',
    'v1',
    'apps',
    'namespaces',
    'default',
    'configmaps',
    'deployments',
    'pods',
    'status',
    'scale',
    'log',
    'token',
    'binding',
    'eviction',
    'finalize',
    'watch',
    'proxy',
    'serviceaccounts',
    'customresourcedefinitions',
    'apiextensions.k8s.io',
    'events',
    'events.k8s.io',
    'authorization.k8s.io',
    'selfsubjectaccessreviews',
    'openapi',
    'v3',
    'kube-root-ca.crt',
    '..',
    '%2e%2e',
    '%',
    '%zz',
    '*',
    ' ',
    'a/b',
    '__proto__',
    'constructor',
    'hasOwnProperty',
  ),
  fc.string({ maxLength: 12 }),
)
const path = fc.oneof(
  fc.array(word, { maxLength: 8 }).map((words) => `/${words.join('/')}`),
  fc
    .tuple(fc.constantFrom('configmaps', 'secrets', 'pods', 'services', 'serviceaccounts'), word, word)
    .map(([plural, name, sub]) => `/api/v1/namespaces/default/${plural}/${name}/${sub}`),
)
const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE')
const parameter = fc.constantFrom(
  'watch',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'labelSelector',
  'fieldSelector',
  'timeoutSeconds',
  'timeout',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'gracePeriodSeconds',
  'propagationPolicy',
  'orphanDependents',
  'includeObject',
  'pretty',
  '__proto__',
)
const value = fc.oneof(
  fc.constantFrom(
    '',
    'true',
    'false',
    '0',
    '1',
    '-1',
    '99999999999999999999',
    'All',
    'Strict',
    'Exact',
    'NotOlderThan',
    'Orphan',
    'a=b',
    '!a',
    'a in (b,c',
    'metadata.name=x',
    'status.phase!=',
    '1s',
    'eyJ2IjoxfQ',
  ),
  fc.string({ maxLength: 20 }),
)
const query = fc.dictionary(parameter, value, { maxKeys: 4 })
const contentType = fc.constantFrom(
  undefined,
  'application/json',
  'application/yaml',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'text/html',
  ';;;',
)
const json = fc.jsonValue({ maxDepth: 4 })
const body = fc.oneof(
  json,
  fc.record(
    {
      apiVersion: fc.oneof(fc.constantFrom('v1', 'apps/v1'), json),
      kind: fc.oneof(fc.constantFrom('ConfigMap', 'Deployment', 'DeleteOptions'), json),
      metadata: fc.oneof(
        fc.record(
          {
            name: fc.oneof(word, json),
            labels: json,
            ownerReferences: json,
            finalizers: json,
            managedFields: json,
            generateName: json,
          },
          { requiredKeys: [] },
        ),
        json,
      ),
      spec: json,
      data: json,
      status: json,
    },
    { requiredKeys: [] },
  ),
  fc.array(
    fc.record(
      {
        op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
        path: fc.oneof(fc.constantFrom('/data', '/metadata/labels', '/spec/replicas', ''), fc.string()),
        from: fc.string(),
        value: json,
      },
      { requiredKeys: [] },
    ),
    { maxLength: 4 },
  ),
)
const accept = fc.constantFrom(
  undefined,
  'application/json',
  'application/json;as=Table;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  '*/*',
  'text/html',
  ';q=,;',
)

describe('whatever is asked', () => {
  let server: TestServer
  const failures: unknown[] = []
  beforeAll(async () => {
    server = await startTestServer({
      clock: systemClock,
      onError: (error, where) => void failures.push([where, error]),
    })
  })
  afterAll(() => server.close())

  it('the server answers with a code of its own, never with 500', async () => {
    const request = fc.record({ method, path, query, body: fc.option(body, { nil: undefined }), contentType, accept })
    await fc.assert(
      fc.asyncProperty(request, async (asked) => {
        const stop = new AbortController()
        const { status, stream } = await server.transport({
          method: asked.method as 'GET',
          path: asked.path,
          query: {
            ...asked.query,
            ...(asked.query['resourceVersion'] ? { resourceVersion: asked.query['resourceVersion'].slice(0, 1) } : {}),
          },
          headers: {
            ...(asked.contentType ? { 'content-type': asked.contentType } : {}),
            ...(asked.accept ? { accept: asked.accept } : {}),
          },
          ...(asked.body === undefined ? {} : { body: asked.body }),
          signal: stop.signal,
        })
        stop.abort()
        if (stream) for await (const _ of stream);
        expect(failures).toEqual([])
        expect(status).not.toBe(500)
        expect(status).toBeGreaterThanOrEqual(200)
      }),
      budget,
    )
  })

  it('bodies are read or refused with a Status', async () => {
    const types = fc.constantFrom('application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf')
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ maxLength: 200 }).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }).map((tail) => Buffer.concat([Buffer.from('k8s\0'), tail])),
      fc.json({ maxDepth: 3 }).map((text) => Buffer.from(text.slice(0, -1))),
      fc
        .constantFrom(
          '&a [*a]',
          'a: &x [1,2]\nb: *x',
          '? {a: b}\n: c',
          '!!js/function x',
          '- - - -',
          '{a: 1, a: 2}',
          `${'['.repeat(5000)}`,
          `${'{"a":'.repeat(5000)}`,
        )
        .map((text) => Buffer.from(text)),
    )
    await fc.assert(
      fc.asyncProperty(bytes, types, async (sent, type) => {
        const kind = { group: '', version: 'v1', kind: 'ConfigMap' }
        const request = {
          method: 'POST',
          path: '',
          query: {},
          dryRun: [],
          headers: {},
          user: { name: '', groups: [] },
          body: bytesBody(sent, type),
        }
        try {
          expect((await decodeObjectBody(request, kind)).value).toBeTypeOf('object')
        } catch (error) {
          if (!(error instanceof StatusError)) throw error
          expect(error.code).toBeLessThan(500)
        }
      }),
      budget,
    )
  })

  it('what kubectl sends is read or refused with a Status when bytes of it are spoilt', async () => {
    const sent = recorded<readonly { body: string }[]>('kubectl-bodies').map(({ body }) => Buffer.from(body, 'base64'))
    const spoilt = fc
      .tuple(
        fc.constantFrom(...sent),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.nat(),
      )
      .map(([bytes, changes, cut]) => {
        const copy = Buffer.from(bytes)
        // The first bytes say that it is protobuf at all.
        for (const [at, byte] of changes) copy[4 + (at % (copy.length - 4))] = byte
        return cut % 3 === 0 ? copy.subarray(0, cut % copy.length) : copy
      })
    await fc.assert(
      fc.asyncProperty(spoilt, async (bytes) => {
        try {
          await bytesBody(bytes, protobuf).decode({ types: [protobuf] })
        } catch (error) {
          if (!(error instanceof StatusError) && !(error instanceof UnreadableBody)) throw error
          if (error instanceof StatusError) expect(error.code).toBeLessThan(500)
        }
      }),
      budget,
    )
  })

  it('tokens are known or not, whatever they are made of', () => {
    const part = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.jsonValue({ maxDepth: 2 }).map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc
        .record({
          alg: fc.constantFrom('none', 'ES256', 'RS256'),
          kid: fc.string(),
          sub: fc.string(),
          exp: fc.integer(),
        })
        .map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(part, { maxLength: 4 }).map((parts) => parts.join('.')),
        ),
        (token) => {
          expect(server.userOfToken(token)).toBeUndefined()
        },
      ),
      { ...budget, interruptAfterTimeLimit: 1000 },
    )
  })

  it('Accept headers never trip it', () => {
    fc.assert(
      fc.property(fc.string(), (header) => void parseAccept(header)),
      { ...budget, interruptAfterTimeLimit: 500 },
    )
  })
})
