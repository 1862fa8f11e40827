import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What admission refuses on the embedded server, and what a signature proves. */
export const admissionGuards: readonly Guard[] = [
  ...inFile('src/tenancy/act-as.ts', [
    [
      'keeps Pipelines of an administrator in their namespace',
      'isClosed ? { ownNamespace: reach.ownNamespace ?? false } : reach',
      'reach',
    ],
  ]),
  ...inFile('src/systems/promoter/targets/target-access.ts', [
    [
      '11: an adapter sees nothing',
      "(await actor.refusalOf({ verb: 'get', group, resource, namespace, name: app.name }))?.message",
      'void actor as undefined',
    ],
    ['12: credentials of another namespace', 'if (!refusal) return undefined', 'if (refusal) return undefined'],
    [
      'keeps Pipelines off GitopsClusters',
      "if (reference?.reason === 'Confined') return",
      'if (reference === null) return',
    ],
  ]),
  ...inFile('src/systems/collector/bonds/bond-observe.ts', [
    ['17: a Bond does not tell', 'if (refused) return unseen(refused)', ''],
    ['keeps Bonds of an administrator in their namespace', 'if (notLent) return unseen(notLent)', ''],
  ]),
  ...inFile('src/admission/policies/record-policy.ts', [
    [
      '50',
      'if (!changesRecord(review) || isPartOfRestore(review)) return',
      'if (changesRecord(review) || !isPartOfRestore(review)) return',
    ],
    ['52', "if (subresource === 'status') return isOne(withStatus)", "if (subresource === 'status') return false"],
    ['53', 'const records = [departure, cleanupCandidate, usageLedger]', 'const records = [departure]'],
  ]),
  ...inFile('src/admission/policies/service-policy.ts', [
    ['18', 'waitingFiles === undefined', 'true'],
    ['19', 'tlsSecret === undefined', 'true'],
  ]),
  ...inFile('src/systems/promoter/http/signature.ts', [['54', '? sharedApprover : keyId', '? keyId : keyId']]),
  ...inFile('src/tenancy/creator-record.ts', [
    ['31', 'if (!old || !deepEqual(old.spec, object.spec)) return', 'if (!old) return'],
  ]),
  ...inFile('src/admission/policies/mark-policies.ts', [
    ['46', "...boundPolicy('sojourn-depends-on', dependsOn),", ''],
  ]),
  ...inFile('src/apis/schema.ts', [['13', "pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',", '']]),
]
