import { approval, type Approval } from '../../apis/approval.ts'
import { accountsOf, celList } from './policy.ts'
import type { AdmissionHook } from '../../apiserver/objects/contract/admission.ts'
import type { KubeObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'

const name = 'sojourn-approvals'
const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
const { group, plural, kind } = approval

/** On the embedded server: users create Approvals only in their own name. Administrators may name any approver. */
export const approvalAdmission: AdmissionHook = {
  validate({ operation, type, subresource, object, user }) {
    if (operation !== 'CREATE' || subresource !== '' || type.group !== group || type.kind !== kind) return
    const { approver } = (object as Approval).spec
    if (approver === user.name || user.groups.includes('system:masters')) return
    throw new StatusError('Forbidden', `spec.approver: must be ${user.name}, the user who creates the Approval`)
  },
}

/** The same rule as an admission policy for real clusters, and the ClusterRole that approvers need. */
export const approvalManifests: readonly KubeObject[] = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name, labels },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['CREATE'], resources: [plural] }],
      },
      validations: [
        {
          // The promoter creates Approvals for signed requests, in the signers' names.
          expression: `object.spec.approver == request.userInfo.username || request.userInfo.username in ${celList(accountsOf('promoter'))} || (has(request.userInfo.groups) && 'system:masters' in request.userInfo.groups)`,
          messageExpression:
            "'spec.approver: must be ' + request.userInfo.username + ', the user who creates the Approval'",
          reason: 'Forbidden',
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name, labels },
    spec: { policyName: name, validationActions: ['Deny'] },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'sojourn-approver', labels },
    rules: [
      { apiGroups: [group], resources: [plural], verbs: ['get', 'list', 'watch', 'create'] },
      { apiGroups: ['pipelines.weave.works'], resources: ['pipelines'], verbs: ['get', 'list', 'watch'] },
    ],
  },
]
