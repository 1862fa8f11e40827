import { describe, expect, it } from 'vitest'
import { kindOf, type KubeObject } from '../../../kube/object.ts'
import { decodeObject } from '../decode/decode.ts'
import { builtinSchema } from '../types/object-schema.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'
import { defaultObject } from './default-object.ts'

interface Created {
  readonly object: KubeObject
  readonly stored: KubeObject
}

/** Kinds to which the API adds more than defaults when it creates them: addresses, phases, finalizers. */
const completedElsewhere = new Set([
  'Pod',
  'Service',
  'DaemonSet',
  'Namespace',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'Node',
])

function defaulted(object: KubeObject): KubeObject {
  const gvk = kindOf(object)
  const schema = builtinSchema(gvk)
  if (!schema) throw new Error(`no schema for ${gvk.kind}`)
  return defaultObject(gvk, decodeObject(schema, object).object)
}

const created = recorded<readonly Created[]>('defaulted-objects').map(
  ({ object, stored }) => [object.kind, object, stored] as const,
)

describe('defaultObject', () => {
  it.each(created.filter(([kind]) => !completedElsewhere.has(kind)))(
    'fills in a %s as the API does',
    (_, object, stored) => {
      expect(defaulted(object)).toEqual(stored)
    },
  )

  it.each(created.filter(([kind]) => completedElsewhere.has(kind)))(
    'fills in nothing of a %s that the API would not',
    (_, object, stored) => {
      expect(stored).toMatchObject({ spec: defaulted(object).spec ?? {} })
    },
  )

  it.each(created)('has nothing to add to a %s it filled in', (_, object) => {
    const once = defaulted(object)
    expect(defaultObject(kindOf(object), once)).toEqual(once)
  })

  it('does not change its argument', () => {
    const object = Object.freeze({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: Object.freeze({ name: 's' }),
      stringData: Object.freeze({ a: 'b' }),
    })
    expect(defaultObject(kindOf(object), object)).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      type: 'Opaque',
      data: { a: 'Yg==' },
    })
    expect(object).toHaveProperty('stringData')
  })

  it('has nothing to say about kinds that are not built in', () => {
    const object = { apiVersion: 'ex.io/v1', kind: 'Foo', metadata: {} }
    expect(defaultObject(kindOf(object), object)).toBe(object)
  })
})
