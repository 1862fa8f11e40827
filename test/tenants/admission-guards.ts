import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What admission refuses on the embedded server, and what a signature proves. */
export const admissionGuards: readonly Guard[] = [
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
]
