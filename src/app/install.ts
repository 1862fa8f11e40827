import { allKinds } from '../apis/all-kinds.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Role } from './config.ts'
import { rbacFor } from './rbac.ts'

export interface InstallOptions {
  readonly roles: readonly Role[]
  readonly image: string
  readonly replicas: number
  readonly dryRun: boolean
}

/** Everything a cluster needs to run the systems, in the order in which it can be applied. */
export function installManifests(options: InstallOptions): readonly KubeObject[] {
  const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sojournNamespace, labels } },
    ...allKinds.map(({ crd }) => crd),
    ...rbacFor(options.roles),
    deployment(options, labels),
  ]
}

function deployment({ roles, image, replicas, dryRun }: InstallOptions, labels: Record<string, string>): KubeObject {
  const selector = { 'app.kubernetes.io/name': 'sojourn' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'sojourn', namespace: sojournNamespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: selector },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 'sojourn',
          securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'sojourn',
              image,
              args: ['run', `--only=${roles.join(',')}`, ...(dryRun ? ['--dry-run'] : [])],
              ports: [
                { name: 'https', containerPort: 7443 },
                { name: 'proxy', containerPort: 7080 },
              ],
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
