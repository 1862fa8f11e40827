import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { health, object, oneOf, string, type Static } from './schema.ts'

export const decisions = ['Approve', 'Reject', 'Promote', 'Retry', 'Rollback', 'Suspend', 'Resume'] as const

const spec = object(
  {
    pipeline: string('Name of the Pipeline, in the same namespace.', { minLength: 1, maxLength: 253 }),
    environment: string(
      'Environment of the Pipeline that the promotion goes to; `*` for all with Retry, Suspend and Resume.',
      { minLength: 1, maxLength: 63 },
    ),
    'promotionId?': string(
      'For Approve and Reject: ID of the promotion, from `status.environments.<env>.waitingApproval.promotionId` of the Pipeline.',
      { pattern: '^[0-9a-f]{16}$', maxLength: 16 },
    ),
    'revision?': string('With Promote, the revision; otherwise for information only.', { maxLength: 1024 }),
    decision: oneOf(
      'Approve or Reject a promotion. Promote a revision that the first environment has had; Rollback to the revision before; Retry; Suspend or Resume the pipeline.',
      decisions,
    ),
    approver: string('User name of the creator; admission rejects any other name.', { minLength: 1, maxLength: 256 }),
    'comment?': string('Reason for the decision, for information only.', { maxLength: 256 }),
  },
  {
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', message: 'is immutable: delete the Approval and create another' },
      {
        rule: "!(self.decision in ['Approve', 'Reject']) || has(self.promotionId)",
        message: 'promotionId is required with Approve and Reject',
      },
      {
        rule: "self.decision != 'Promote' || (has(self.revision) && self.revision != '')",
        message: 'revision is required with Promote',
      },
    ],
  },
)

const status = object({
  state: oneOf('Whether the promoter counts the Approval.', ['Counted', 'Ignored']),
  reason: string('Why it is counted or ignored, as one CamelCase word.'),
  'message?': string('Why it is counted or ignored, as a sentence.'),
  ...health,
})

/** A user's decision on one promotion, or a request to a pipeline. RBAC controls who may create it, and the audit log shows who did. */
export const approval = defineOwnKind({
  kind: 'Approval',
  scope: 'Namespaced',
  description: 'Approves or rejects one promotion of a Pipeline, or requests one.',
  spec,
  status,
  columns: [
    { name: 'Pipeline', type: 'string', jsonPath: '.spec.pipeline' },
    { name: 'Environment', type: 'string', jsonPath: '.spec.environment' },
    { name: 'Revision', type: 'string', jsonPath: '.spec.revision' },
    { name: 'Decision', type: 'string', jsonPath: '.spec.decision' },
    { name: 'By', type: 'string', jsonPath: '.spec.approver' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Reason', type: 'string', jsonPath: '.status.message', priority: 1 },
  ],
})

export type Approval = ObjectOf<typeof approval>
export type ApprovalSpec = Static<typeof spec>
export type ApprovalStatus = Static<typeof status>
