import { allKinds } from '../../apis/all-kinds.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { KubeObject } from '../../kube/object.ts'
import { shippedPolicies } from '../../admission/policies/policy.ts'
import { creatorPolicies, type CreatorAdmission } from '../../admission/policies/creator-policy.ts'
import type { Role } from '../config/config.ts'
import { peopleManifests, rbacFor } from './rbac.ts'
import { workloadManifests } from './workloads.ts'
import {
  dashboardSecret,
  emptySecret,
  promoterSecret,
  webhookManifests,
} from '../../admission/webhook-configuration.ts'

export { creatorAdmissions, type CreatorAdmission } from '../../admission/policies/creator-policy.ts'

export interface InstallOptions {
  readonly roles: readonly Role[]
  readonly image: string
  readonly replicas: number
  readonly dryRun: boolean
  /** Whether records keep the data of Secrets, encrypted. Defaults to false. */
  readonly recordSecrets?: boolean
  /** The one namespace that the activator serves. Defaults to all. */
  readonly activatorNamespace?: string
  /** What records the creators of objects. Defaults to MAP, which needs Kubernetes 1.36. */
  readonly admission?: CreatorAdmission
  /** Users that restore backups. Defaults to none. */
  readonly restorers?: readonly string[]
  /** Whether each role is a Deployment with its own ServiceAccount. Defaults to false: all roles are one Deployment. */
  readonly separateRoles?: boolean
}

/** All manifests that a cluster needs to run the systems, in an order in which they can be applied. */
export function installManifests(options: InstallOptions): readonly KubeObject[] {
  const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
  const { roles, admission = 'MAP', restorers = [] } = options
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sojournNamespace, labels } },
    ...allKinds.map(({ crd }) => crd),
    ...rbacFor(roles, {
      ...options,
      options: ['takeover', 'detection', ...(admission === 'Webhook' ? ['creatorWebhook'] : [])],
    }),
    ...peopleManifests(),
    ...shippedPolicies('keep-policies'),
    ...shippedPolicies('record-policies'),
    ...creatorPolicies({ admission, restorers }),
    ...(roles.includes('activator') ? shippedPolicies('service-policies') : []),
    ...(roles.includes('collector') ? shippedPolicies('bond-policies') : []),
    ...(roles.includes('promoter') ? [...shippedPolicies('approvals'), emptySecret(promoterSecret)] : []),
    ...(roles.includes('dashboard') ? [emptySecret(dashboardSecret)] : []),
    ...workloadManifests(options),
    ...(roles.includes('cleaner') ? webhookManifests({ environments: roles.includes('environments') }) : []),
  ]
}
