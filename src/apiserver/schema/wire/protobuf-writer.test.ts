import { describe, expect, it } from 'vitest'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'
import { decodeProtobuf } from './protobuf.ts'
import { encodeProtobuf, encodeWatchEvent } from './protobuf-writer.ts'
import { ProtobufReader } from './protobuf-reader.ts'

const sent = recorded<readonly { readonly command: string; readonly object: object }[]>('kubectl-bodies')

describe('encodeProtobuf', () => {
  it.each(sent.map(({ command, object }) => [command, object] as const))(
    'writes what `kubectl %s` would read as the same object',
    (_, object) => expect(decodeProtobuf(encodeProtobuf(object) ?? Buffer.alloc(0))).toEqual(object),
  )

  it('writes negative numbers, large ones, times, durations and schemas', () => {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'a', generation: 9_007_199_254_740_991, creationTimestamp: '2026-01-02T03:04:05Z' },
      spec: { leaseTransitions: -1, renewTime: '2026-01-02T03:04:05.000678Z' },
    }
    expect(decodeProtobuf(encodeProtobuf(lease) ?? Buffer.alloc(0))).toEqual(lease)
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'a' },
      spec: {
        group: 'a.b',
        names: { plural: 'as', kind: 'A' },
        scope: 'Cluster',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  a: { type: 'array', items: { maximum: 1.5, type: 'number' }, default: [1, { b: null }] },
                },
                additionalProperties: false,
              },
            },
          },
        ],
      },
    }
    const read = decodeProtobuf(encodeProtobuf(definition) ?? Buffer.alloc(0))
    expect(read.spec).toEqual(definition.spec)
  })

  it('writes lists, and metadata of any kind', () => {
    const list = {
      apiVersion: 'v1',
      kind: 'ConfigMapList',
      metadata: { resourceVersion: '7' },
      items: [{ data: { a: 'b' } }],
    }
    expect(encodeProtobuf(list)?.toString('latin1')).toContain('ConfigMapList')
    const partial = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'widget' } }
    expect(encodeProtobuf(partial)?.toString('latin1')).toContain('widget')
  })

  it('has no form for custom resources', () => {
    expect(encodeProtobuf({ apiVersion: 'a.b/v1', kind: 'Widget', metadata: { name: 'a' } })).toBeUndefined()
    expect(encodeProtobuf({ apiVersion: 'a.b/v1', kind: 'WidgetList', metadata: {}, items: [] })).toBeUndefined()
  })

  it('frames the events of a watch by their length', () => {
    const frame = encodeWatchEvent('ADDED', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
    expect(frame?.readUInt32BE()).toBe((frame?.length ?? 0) - 4)
    const reader = new ProtobufReader(frame?.subarray(4) ?? Buffer.alloc(0))
    expect([reader.tag(), reader.string()]).toEqual([0x0a, 'ADDED'])
  })
})
