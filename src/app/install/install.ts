import { allKinds } from '../../apis/all-kinds.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { KubeObject } from '../../kube/object.ts'
import { bondPolicies, keepPolicies } from '../../admission/policies/mark-policies.ts'
import { approvalManifests } from '../../admission/policies/approval-policy.ts'
import { creatorPolicies, type CreatorAdmission } from '../../admission/policies/creator-policy.ts'
import { recordPolicies } from '../../admission/policies/record-policy.ts'
import { servicePolicies } from '../../admission/policies/service-policy.ts'
import type { Role } from '../config/config.ts'
import { clusterRoles, nameOf, peopleManifests, rbacFor, type ClusterRole } from './rbac.ts'
import { emptySecret, promoterSecret, webhookManifests } from '../../admission/webhook-configuration.ts'

export { creatorAdmissions, type CreatorAdmission } from '../../admission/policies/creator-policy.ts'

export interface InstallOptions {
  readonly roles: readonly Role[]
  readonly image: string
  readonly replicas: number
  readonly dryRun: boolean
  /** The one namespace that the activator serves. Defaults to all. */
  readonly activatorNamespace?: string
  /** What records the creators of objects. Defaults to MAP, which needs Kubernetes 1.36. */
  readonly admission?: CreatorAdmission
  /** Users that restore backups. Defaults to none. */
  readonly restorers?: readonly string[]
}

const ports = { https: 7443, proxy: 7080, peers: 7081 }

/** All manifests that a cluster needs to run the systems, in an order in which they can be applied. */
export function installManifests(options: InstallOptions): readonly KubeObject[] {
  const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
  const { admission = 'MAP', restorers = [] } = options
  const roles = clusterRoles.filter((role) => options.roles.includes(role))
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sojournNamespace, labels } },
    ...allKinds.map(({ crd }) => crd),
    ...rbacFor(roles, {
      options: ['takeover', 'detection', ...(admission === 'Webhook' ? ['creatorWebhook'] : [])],
      ...(options.activatorNamespace === undefined ? {} : { activatorNamespace: options.activatorNamespace }),
    }),
    ...peopleManifests(),
    ...keepPolicies(),
    ...recordPolicies(),
    ...creatorPolicies({ admission, restorers }),
    ...(roles.includes('activator') ? servicePolicies() : []),
    ...(roles.includes('collector') ? bondPolicies() : []),
    ...(roles.includes('promoter') ? [...approvalManifests, emptySecret(promoterSecret)] : []),
    ...roles.map((role) => deployment(role, options)),
    ...roles.map((role) => service(role, { name: nameOf(role), port: 443, targetPort: 'https' })),
    ...(roles.includes('activator')
      ? [service('activator', { name: 'sojourn-proxy', port: 80, targetPort: 'proxy' })]
      : []),
    ...(roles.includes('cleaner') ? webhookManifests() : []),
  ]
}

function labelsOf(role: ClusterRole): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'sojourn',
    'app.kubernetes.io/part-of': 'sojourn',
    'app.kubernetes.io/component': role,
  }
}

function selectorOf(role: ClusterRole): Record<string, string> {
  return { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/component': role }
}

function deployment(role: ClusterRole, options: InstallOptions): KubeObject {
  const { image, replicas, dryRun } = options
  const name = nameOf(role)
  const isProxy = role === 'activator'
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: sojournNamespace, labels: labelsOf(role) },
    spec: {
      replicas,
      selector: { matchLabels: selectorOf(role) },
      template: {
        metadata: { labels: labelsOf(role) },
        spec: {
          serviceAccountName: name,
          // Service links would set SOJOURN_PROXY_PORT, which is a setting.
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            runAsGroup: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          ...(isProxy ? { terminationGracePeriodSeconds: 60 } : {}),
          containers: [
            {
              name: 'sojourn',
              image,
              args: [
                'run',
                `--only=${role}`,
                '--host=0.0.0.0',
                `--port=${ports.https}`,
                `--proxy-port=${ports.proxy}`,
                ...(isProxy ? [`--peer-port=${ports.peers}`, '--drain-delay=5s', '--drain=45s'] : []),
                ...(dryRun ? ['--dry-run'] : []),
              ],
              ...(isProxy ? { env: proxyEnvironment(options) } : {}),
              ports: [
                { name: 'https', containerPort: ports.https },
                ...(isProxy
                  ? [
                      { name: 'proxy', containerPort: ports.proxy },
                      { name: 'peers', containerPort: ports.peers },
                    ]
                  : []),
              ],
              livenessProbe: { httpGet: { path: '/healthz', port: 'https', scheme: 'HTTPS' } },
              readinessProbe: { httpGet: { path: '/readyz', port: 'https', scheme: 'HTTPS' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } },
            },
          ],
        },
      },
    },
  }
}

/** The address and name by which the other replicas find this one. */
function proxyEnvironment({ activatorNamespace }: InstallOptions): readonly Readonly<Record<string, unknown>>[] {
  return [
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...(activatorNamespace === undefined ? [] : [{ name: 'NAMESPACE', value: activatorNamespace }]),
  ]
}

function service(
  role: ClusterRole,
  { name, port, targetPort }: { readonly name: string; readonly port: number; readonly targetPort: string },
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: sojournNamespace, labels: labelsOf(role) },
    spec: { selector: selectorOf(role), ports: [{ name: targetPort, port, targetPort }] },
  }
}
