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
  ...inFile('deploy/policies/record-policies.yaml', [
    ['50', ".check('impersonate').allowed()", ".check('impersonate').allowed() || true"],
    ['52', '          - bonds/status\n', ''],
    ['50', '          - departurepages\n', ''],
    ['53', '          - usageledgers\n', ''],
  ]),
  ...inFile('deploy/policies/service-policies.yaml', [
    ['18', 'size(variables.page) != 2 ||', 'true ||'],
    ['19', "variables.secret == '' ||", 'true ||'],
  ]),
  ...inFile('src/systems/promoter/http/signature.ts', [['54', '? sharedApprover : keyId', '? keyId : keyId']]),
  ...inFile('src/tenancy/creator-record.ts', [
    ['31', 'if (!old || !deepEqual(old.spec, object.spec)) return', 'if (!old) return'],
  ]),
  ...inFile('deploy/policies/bond-policies.yaml', [['46', 'policyName: sojourn-depends-on', 'policyName: another']]),
  ...inFile('src/client/resource-path.ts', [['13', '`/${encodeURIComponent(name)}`', '`/${name}`']]),
  ...inFile('src/admission/unknown-kinds.ts', [['135: asks the cluster', '.slice(0, maxReferences)', '']]),
]
