import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { health, object, oneOf, optional, string, type Static } from './schema.ts'

const spec = object(
  {
    pipeline: string({ minLength: 1, maxLength: 253, description: 'Name of the Pipeline, in the same namespace.' }),
    environment: string({
      minLength: 1,
      maxLength: 63,
      description: 'Environment of the Pipeline that the promotion goes to.',
    }),
    promotionId: string({
      pattern: '^[0-9a-f]{16}$',
      maxLength: 16,
      description: 'ID of the promotion, from `status.environments.<env>.waitingApproval.promotionId` of the Pipeline.',
    }),
    revision: optional(string({ maxLength: 1024, description: 'Revision of the promotion, for information only.' })),
    decision: oneOf(['Approve', 'Reject'], { description: 'Whether the promotion may go ahead.' }),
    approver: string({
      minLength: 1,
      maxLength: 256,
      description: 'User name of the creator; admission rejects any other name.',
    }),
    comment: optional(string({ maxLength: 256, description: 'Reason for the decision, for information only.' })),
  },
  {
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', message: 'is immutable: delete the Approval and create another' },
    ],
  },
)

const status = object({
  state: oneOf(['Counted', 'Ignored'], { description: 'Whether the promoter counts the Approval.' }),
  reason: string({ description: 'Why it is counted or ignored, as one CamelCase word.' }),
  message: optional(string({ description: 'Why it is counted or ignored, as a sentence.' })),
  ...health,
})

/** A user's decision on one promotion. RBAC controls who may create it, and the audit log shows who did. */
export const approval = defineKind({
  ...sojournGroup,
  kind: 'Approval',
  plural: 'approvals',
  scope: 'Namespaced',
  description: 'Approves or rejects one promotion of a Pipeline.',
  categories: ['sojourn'],
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
