import type { KubeObject } from '../../kube/object.ts'
import type { Subject } from '../auth/rbac.ts'
import { ageColumn, column, count, nameColumn, wide, type Column } from './column.ts'
import { eventColumns } from './core-columns.ts'
import { conditionStatus, joined, read, readList, readNumber, readText } from './read.ts'
import { selectorText } from './workload-columns.ts'

const createdColumn: Column = { name: 'Created At', cell: ({ metadata }) => metadata.creationTimestamp }

/** The columns of kinds outside the core group that run no pods, by resource. */
export const groupColumns: Readonly<Record<string, readonly Column[]>> = {
  'events.events.k8s.io': eventColumns('deprecatedLastTimestamp', 'regarding', 'note'),
  'leases.coordination.k8s.io': [
    nameColumn,
    column('Holder', (lease) => readText(lease, 'spec.holderIdentity')),
    ageColumn,
  ],
  'endpointslices.discovery.k8s.io': [
    nameColumn,
    column('AddressType', (slice) => readText(slice, 'addressType')),
    column('Ports', (slice) => shortened(readList<{ port?: number }>(slice, 'ports').map(({ port }) => port ?? '*'))),
    column('Endpoints', (slice) =>
      shortened(readList<{ addresses?: string[] }>(slice, 'endpoints').flatMap(({ addresses = [] }) => addresses)),
    ),
    ageColumn,
  ],
  'controllerrevisions.apps': [
    nameColumn,
    column('Controller', (object) => {
      const owner = object.metadata.ownerReferences?.find(({ controller }) => controller)
      return owner ? `${owner.kind.toLowerCase()}.${owner.apiVersion.split('/')[0] ?? ''}/${owner.name}` : '<none>'
    }),
    count('Revision', (object) => read(object, 'revision')),
    ageColumn,
  ],
  'customresourcedefinitions.apiextensions.k8s.io': [nameColumn, createdColumn],
  'roles.rbac.authorization.k8s.io': [nameColumn, createdColumn],
  'clusterroles.rbac.authorization.k8s.io': [nameColumn, createdColumn],
  'rolebindings.rbac.authorization.k8s.io': bindingColumns(),
  'clusterrolebindings.rbac.authorization.k8s.io': bindingColumns(),
  'horizontalpodautoscalers.autoscaling': [
    nameColumn,
    column(
      'Reference',
      (object) => `${readText(object, 'spec.scaleTargetRef.kind')}/${readText(object, 'spec.scaleTargetRef.name')}`,
    ),
    column('Targets', targets),
    column('MinPods', (object) => readText(object, 'spec.minReplicas', '<unset>')),
    count('MaxPods', (object) => read(object, 'spec.maxReplicas')),
    count('Replicas', (object) => read(object, 'status.currentReplicas')),
    ageColumn,
  ],
  'ingresses.networking.k8s.io': [
    nameColumn,
    column('Class', (object) => readText(object, 'spec.ingressClassName', '<none>')),
    column('Hosts', hosts),
    column('Address', (object) =>
      readList<{ ip?: string; hostname?: string }>(object, 'status.loadBalancer.ingress')
        .map(({ ip, hostname }) => ip ?? hostname)
        .join(','),
    ),
    column('Ports', (object) => (readList(object, 'spec.tls').length > 0 ? '80, 443' : '80')),
    ageColumn,
  ],
  'ingressclasses.networking.k8s.io': [
    nameColumn,
    column('Controller', (object) => readText(object, 'spec.controller')),
    column('Parameters', (object) => {
      const kind = readText(object, 'spec.parameters.kind')
      return kind
        ? `${kind}.${readText(object, 'spec.parameters.apiGroup')}/${readText(object, 'spec.parameters.name')}`
        : '<none>'
    }),
    ageColumn,
  ],
  'networkpolicies.networking.k8s.io': [
    nameColumn,
    column('Pod-Selector', (object) => selectorText(read(object, 'spec.podSelector') ?? {})),
    ageColumn,
  ],
  'poddisruptionbudgets.policy': [
    nameColumn,
    column('Min Available', (object) => readText(object, 'spec.minAvailable', 'N/A')),
    column('Max Unavailable', (object) => readText(object, 'spec.maxUnavailable', 'N/A')),
    count('Allowed Disruptions', (object) => read(object, 'status.disruptionsAllowed')),
    ageColumn,
  ],
  'storageclasses.storage.k8s.io': [
    {
      ...nameColumn,
      cell: ({ metadata }) =>
        metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true'
          ? `${metadata.name} (default)`
          : metadata.name,
    },
    column('Provisioner', (object) => readText(object, 'provisioner')),
    column('ReclaimPolicy', (object) => readText(object, 'reclaimPolicy', 'Delete')),
    column('VolumeBindingMode', (object) => readText(object, 'volumeBindingMode', 'Immediate')),
    column('AllowVolumeExpansion', (object) => read(object, 'allowVolumeExpansion') === true),
    ageColumn,
  ],
  'apiservices.apiregistration.k8s.io': [
    nameColumn,
    column('Service', () => 'Local'),
    column('Available', (object) => conditionStatus(object, 'Available') ?? ''),
    ageColumn,
  ],
  'priorityclasses.scheduling.k8s.io': [
    nameColumn,
    count('Value', (object) => read(object, 'value')),
    column('Global-Default', (object) => read(object, 'globalDefault') === true),
    ageColumn,
    column('PreemptionPolicy', (object) => readText(object, 'preemptionPolicy')),
  ],
  'validatingadmissionpolicies.admissionregistration.k8s.io': [
    nameColumn,
    count('Validations', (object) => readList(object, 'spec.validations').length),
    column('ParamKind', (object) => {
      const kind = readText(object, 'spec.paramKind.kind')
      return kind ? `${readText(object, 'spec.paramKind.apiVersion')}/${kind}` : '<unset>'
    }),
    ageColumn,
  ],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
    nameColumn,
    column('PolicyName', (object) => readText(object, 'spec.policyName')),
    column('ParamRef', (object) => readText(object, 'spec.paramRef.name', '<unset>')),
    ageColumn,
  ],
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhookColumns(),
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhookColumns(),
}

function bindingColumns(): readonly Column[] {
  const subjects = (object: KubeObject, kind: string) =>
    readList<Subject>(object, 'subjects')
      .filter((subject) => subject.kind === kind)
      .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
      .join(', ')
  return [
    nameColumn,
    column('Role', (object) => `${readText(object, 'roleRef.kind')}/${readText(object, 'roleRef.name')}`),
    ageColumn,
    ...wide(
      column('Users', (object) => subjects(object, 'User')),
      column('Groups', (object) => subjects(object, 'Group')),
      column('ServiceAccounts', (object) => subjects(object, 'ServiceAccount')),
    ),
  ]
}

function webhookColumns(): readonly Column[] {
  return [nameColumn, count('Webhooks', (object) => readList(object, 'webhooks').length), ageColumn]
}

function shortened(items: readonly unknown[]): string {
  if (items.length === 0) return '<unset>'
  const shown = items.slice(0, 3).join(',')
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown
}

function hosts(ingress: KubeObject): string {
  const all = readList<{ host?: string }>(ingress, 'spec.rules').flatMap(({ host }) => (host ? [host] : []))
  if (all.length === 0) return '*'
  const shown = all.slice(0, 3).join(',')
  return all.length > 3 ? `${shown} + ${all.length - 3} more...` : shown
}

function targets(autoscaler: KubeObject): string {
  const current = readList(autoscaler, 'status.currentMetrics')
  const metrics = readList<Record<string, unknown>>(autoscaler, 'spec.metrics').map((metric, index) => {
    const name = readText(metric, 'resource.name', readText(metric, 'type').toLowerCase())
    const wanted = readNumber(metric, 'resource.target.averageUtilization')
    const used = read(current[index], 'resource.current.averageUtilization')
    const shownUse = typeof used === 'number' ? `${used}%` : '<unknown>'
    return `${name}: ${shownUse}/${wanted ? `${wanted}%` : readText(metric, 'resource.target.averageValue', '<auto>')}`
  })
  return joined(metrics)
}
