import type { KubeObject } from '../../../src/kube/object.ts'

/** A CRD of several hundred kilobytes: as deep and as wordy as those of large projects. */
export function bigDefinition(): KubeObject {
  const words =
    'It says how this part behaves when the one before it has decided otherwise, and which of them wins. '.repeat(4)
  const option = {
    type: 'object',
    description: words,
    properties: {
      mode: { type: 'string', enum: ['Fast', 'Careful'], description: words },
      items: {
        type: 'array',
        description: words,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['key'],
        items: {
          type: 'object',
          required: ['key'],
          properties: { key: { type: 'string', pattern: '^[a-z]+$' }, value: { type: 'string', maxLength: 100 } },
        },
      },
      amount: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
  }
  const section = { type: 'object', description: words, properties: numbered('option', 12, option) }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'bigs.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'bigs', singular: 'big', kind: 'Big', listKind: 'BigList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: numbered('section', 20, section) } },
            },
          },
        },
      ],
    },
  }
}

function numbered(prefix: string, count: number, schema: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, schema]))
}
