import type { CleanupPolicySpec } from '../../src/apis/cleanup-policy.ts'

/** What is judged: ConfigMaps of a certain age that nothing uses, by a detector and by CEL, with two exclusions. */
export function judgedPolicy(age: string): Partial<CleanupPolicySpec> {
  const isOld = `now - timestamp(object.metadata.creationTimestamp) > duration("${age}")`
  return {
    minAge: age,
    targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], customReferences: 'Ignore' } }],
    rules: [
      {
        operator: 'AND',
        rules: [
          { name: 'Unused' },
          {
            name: 'Expression',
            parameters: { expression: `object.metadata.name.startsWith("map-") && ${isOld}` },
          },
        ],
      },
    ],
    exclusions: [
      { type: 'Literal', attributes: [{ key: 'name', value: ['pattern:^keep-'] }] },
      { type: 'Tag', attributes: [{ key: 'keep', value: ['yes'] }] },
    ],
  }
}
