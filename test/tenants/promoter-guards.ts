import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps requests to pipelines and checks by Jobs within the rights of users. */
export const promoterGuards: readonly Guard[] = [
  ...inFile('src/systems/promoter/decision/approvals.ts', [
    ['never counts as an approval, even if it names the promotion', ' && !isRequest(approval)', ''],
  ]),
  ...inFile('src/systems/promoter/decision/approvals.ts', [
    [
      'is for the listed approvers where an environment has a list',
      "if (approvers && !approvers.includes(by)) return 'NotAnApprover'",
      '',
    ],
    [
      'goes to one environment without waiting for those before, and only with a revision that was seen',
      "return decision === 'Rollback' ? 'NothingToRollBackTo' : 'RevisionNotSeen'",
      "return 'Requested'",
    ],
  ]),
  ...inFile('src/systems/promoter/strategies/verify.ts', [
    [
      'creates no Job with rights that the creator of the Pipeline does not have',
      'if (refusal) return refusal.message',
      '',
    ],
  ]),
  ...inFile('src/systems/promoter/targets/target-access.ts', [
    [
      'checks the rights for the version that is read in place of one that is not served',
      'await servedType(this.#ports.client, app)',
      'await this.#ports.client.discovery.typeOf(app)',
    ],
  ]),
]
