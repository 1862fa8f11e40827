import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { object, oneOf, optional, string, type Static } from './schema.ts'

const spec = object(
  {
    pipeline: string({ minLength: 1, maxLength: 253, description: 'The Pipeline, in the same namespace.' }),
    environment: string({ minLength: 1, maxLength: 63, description: 'The environment that waits.' }),
    promotionId: string({
      pattern: '^[0-9a-f]{16}$',
      maxLength: 16,
      description: 'The one promotion it is for, as in `waitingApproval.promotionId`; it counts for no other.',
    }),
    revision: optional(string({ maxLength: 1024, description: 'What it is about, for people to read.' })),
    decision: oneOf(['Approve', 'Reject']),
    approver: string({
      minLength: 1,
      maxLength: 256,
      description: 'Who says so: the user who creates it, and nobody else.',
    }),
    comment: optional(string({ maxLength: 256 })),
  },
  {
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is given once and cannot be changed' }],
  },
)

const status = object({
  state: oneOf(['Counted', 'Ignored']),
  reason: string(),
  message: optional(string()),
})

/** Somebody's word on one promotion: who may give it is a matter of RBAC, and the audit log says who did. */
export const approval = defineKind({
  ...sojournGroup,
  kind: 'Approval',
  plural: 'approvals',
  scope: 'Namespaced',
  description: 'Lets one promotion of a Pipeline go on, or refuses it.',
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
