import { approval, type Approval } from '../apis/approval.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { AdmissionHook } from '../apiserver/objects/contract/admission.ts'
import type { KubeObject } from '../kube/object.ts'
import { StatusError } from '../kube/status-error.ts'

const name = 'sojourn-approvals'
const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
const { group, plural, kind } = approval
const promoter = `system:serviceaccount:${sojournNamespace}:sojourn-promoter`

/** On our own server: an approval is given in one's own name. Administrators may do anything, this too. */
export const approvalAdmission: AdmissionHook = {
  validate({ operation, type, subresource, object, user }) {
    if (operation !== 'CREATE' || subresource !== '' || type.group !== group || type.kind !== kind) return
    const { approver } = (object as Approval).spec
    if (approver === user.name || user.groups.includes('system:masters')) return
    throw new StatusError('Forbidden', `spec.approver: must be ${user.name}, who gives it`)
  },
}

/** In somebody else's cluster the same, by a policy that the cluster itself enforces; and the role that people need to approve. */
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
          // The promoter records signed approvals in the names of those who signed.
          expression: `object.spec.approver == request.userInfo.username || request.userInfo.username == '${promoter}' || (has(request.userInfo.groups) && 'system:masters' in request.userInfo.groups)`,
          messageExpression: "'spec.approver: must be ' + request.userInfo.username + ', who gives it'",
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
