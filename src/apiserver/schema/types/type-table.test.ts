import { describe, expect, it } from 'vitest'
import { builtinKinds } from './builtin-kinds.ts'
import { structOfKind, structType, type StructType } from './type-table.ts'

/** Every type a kind is made of, itself included. */
function reachable(struct: StructType, found = new Set<StructType>()): Set<StructType> {
  if (found.has(struct)) return found
  found.add(struct)
  for (const { type } of struct.own) {
    let inner = type
    while (inner.is === 'list' || inner.is === 'map') inner = inner.of
    if (inner.is === 'struct') reachable(inner.struct, found)
  }
  return found
}

describe('the type table', () => {
  it('has a type for every kind and every body of a subresource', () => {
    const kinds = builtinKinds().flatMap((kind) => [kind, ...kind.subresources])
    expect(kinds.filter((kind) => !structOfKind(kind))).toEqual([])
  })

  it('has every type that another mentions, with distinct wire numbers', () => {
    for (const kind of builtinKinds()) {
      const struct = structOfKind(kind)
      if (!struct) continue
      for (const { own } of reachable(struct)) {
        const numbers = own.map((field) => field.number).filter((number) => number > 0)
        expect(new Set(numbers).size).toBe(numbers.length)
      }
    }
  })

  it.each([
    'Namespace',
    'Pod',
    'Service',
    'Secret',
    'ConfigMap',
    'Event',
    'Node',
    'Deployment',
    'Job',
    'CronJob',
    'Lease',
    'EndpointSlice',
    'CustomResourceDefinition',
    'ClusterRoleBinding',
    'SelfSubjectAccessReview',
    'HorizontalPodAutoscaler',
    'Ingress',
    'PodDisruptionBudget',
    'StorageClass',
    'PriorityClass',
    'ValidatingAdmissionPolicy',
  ])('serves %s', (kind) => expect(builtinKinds().some((each) => each.kind === kind)).toBe(true))

  it('knows the keys lists are merged by', () => {
    const ports = structType('core/v1.Container')?.fields.get('ports')
    expect(ports).toMatchObject({ listType: 'map', listKeys: ['containerPort', 'protocol'], mergeKey: 'containerPort' })
  })

  it('lets reviews be created only', () => {
    expect(builtinKinds().find(({ kind }) => kind === 'TokenReview')?.verbs).toEqual(['create'])
  })
})
