import { sojournNamespace } from '../../apis/group.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { InstallOptions } from './install.ts'
import { accountOf, componentsOf, nameOf, type Component } from './rbac.ts'

/** One Deployment: its name is that of its ServiceAccount. */
interface Workload {
  readonly name: string
  readonly components: readonly Component[]
}

const ports = { https: 7443, proxy: 7080, peers: 7081 }
/** The ports at which proxies listen for Services that are taken over. */
const takeoverPorts = { port: 20_000, endPort: 29_999 }

/** Deployments, and the Services, NetworkPolicies and PodDisruptionBudgets that belong to them. */
export function workloadManifests(options: InstallOptions): readonly KubeObject[] {
  const byAccount = Map.groupBy(componentsOf(options.roles), (component) => accountOf(component, options))
  const workloads = [...byAccount].map(([name, components]) => ({ name, components }))
  return [
    ...workloads.map(networkPolicy),
    ...(options.replicas > 1 ? workloads.map(disruptionBudget) : []),
    ...workloads.map((workload) => deployment(workload, options)),
    ...workloads.flatMap(servicesOf),
  ]
}

const isProxy = ({ components }: Workload) => components.includes('proxy')
const hasPeers = ({ components }: Workload) => components.includes('activator') || components.includes('proxy')

function metadataOf(workload: Workload, name = workload.name) {
  return { name, namespace: sojournNamespace, labels: labelsOf(workload) }
}

function labelsOf(workload: Workload): Record<string, string> {
  return { ...selectorOf(workload), 'app.kubernetes.io/part-of': 'sojourn' }
}

function selectorOf({ name, components }: Workload): Record<string, string> {
  const [component = ''] = components
  return {
    'app.kubernetes.io/name': 'sojourn',
    'app.kubernetes.io/component': name === 'sojourn' ? 'controllers' : component,
  }
}

function deployment(workload: Workload, options: InstallOptions): KubeObject {
  const matchLabels = selectorOf(workload)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(workload),
    spec: {
      replicas: options.replicas,
      selector: { matchLabels },
      template: {
        metadata: { labels: labelsOf(workload) },
        spec: {
          serviceAccountName: workload.name,
          // Service links would set SOJOURN_PROXY_PORT, which is a setting.
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            runAsGroup: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          ...(isProxy(workload) ? { terminationGracePeriodSeconds: 60 } : {}),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels },
            },
          ],
          containers: [container(workload, options)],
        },
      },
    },
  }
}

function container(workload: Workload, options: InstallOptions) {
  const probe = (path: string) => ({ httpGet: { path, port: 'https', scheme: 'HTTPS' }, timeoutSeconds: 5 })
  return {
    name: 'sojourn',
    image: options.image,
    args: argsOf(workload, options),
    ...(hasPeers(workload) ? { env: peerEnvironment(options) } : {}),
    ports: [
      { name: 'https', containerPort: ports.https },
      ...(isProxy(workload) ? [{ name: 'proxy', containerPort: ports.proxy }] : []),
      ...(hasPeers(workload) ? [{ name: 'peers', containerPort: ports.peers }] : []),
    ],
    livenessProbe: probe('/healthz'),
    readinessProbe: probe('/readyz'),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    // A proxy has up to four threads, each with about 35 MB.
    resources: { requests: { cpu: '50m', memory: isProxy(workload) ? '256Mi' : '192Mi' }, limits: { memory: '1Gi' } },
  }
}

function argsOf(workload: Workload, { dryRun, recordSecrets = false }: InstallOptions): readonly string[] {
  const roles = workload.components.map((component) => (component === 'proxy' ? 'activator' : component))
  return [
    'run',
    `--only=${roles.join(',')}`,
    '--host=0.0.0.0',
    `--port=${ports.https}`,
    ...(hasPeers(workload)
      ? [
          `--activator-part=${isProxy(workload) ? 'proxy' : 'scaler'}`,
          `--proxy-port=${ports.proxy}`,
          `--peer-port=${ports.peers}`,
        ]
      : []),
    ...(isProxy(workload) ? ['--drain-delay=5s', '--drain=45s'] : []),
    ...(dryRun && roles[0] !== 'dashboard' ? ['--dry-run'] : []),
    ...(recordSecrets && roles[0] !== 'dashboard' && !isProxy(workload) ? ['--record-secrets'] : []),
  ]
}

/** The address and name by which the other replicas find this one. */
function peerEnvironment({ activatorNamespace }: InstallOptions): readonly Readonly<Record<string, unknown>>[] {
  return [
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...(activatorNamespace === undefined ? [] : [{ name: 'NAMESPACE', value: activatorNamespace }]),
  ]
}

/** Programs and people call these roles by name, whichever Deployment runs them. */
const calledRoles: readonly Component[] = ['cleaner', 'janitor', 'promoter']

function servicesOf(workload: Workload): readonly KubeObject[] {
  const service = (name: string, port: Readonly<Record<string, unknown>>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(workload, name),
    spec: { selector: selectorOf(workload), ports: [port] },
  })
  // Prometheus scrapes ports named https: one Service of each Deployment has such a port.
  const scraped = { name: 'https', port: 443, targetPort: 'https' }
  if (isProxy(workload))
    return [
      service('sojourn-proxy', { name: 'proxy', port: 80, targetPort: 'proxy' }),
      service('sojourn-proxy-metrics', scraped),
    ]
  const others = workload.components.filter(
    (component) => nameOf(component) !== workload.name && calledRoles.includes(component),
  )
  return [
    service(workload.name, scraped),
    ...others.map((component) => service(nameOf(component), { ...scraped, name: 'calls' })),
  ]
}

function networkPolicy(workload: Workload): KubeObject {
  const podSelector = { matchLabels: selectorOf(workload) }
  // Processes that scale and proxies call each other.
  const peers = { matchLabels: { 'app.kubernetes.io/name': 'sojourn' } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(workload),
    spec: {
      podSelector,
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [{ port: 'https' }] },
        ...(hasPeers(workload) ? [{ ports: [{ port: 'peers' }], from: [{ podSelector: peers }] }] : []),
        ...(isProxy(workload) ? [{ ports: [{ port: 'proxy' }, takeoverPorts] }] : []),
      ],
    },
  }
}

function disruptionBudget(workload: Workload): KubeObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(workload),
    spec: {
      minAvailable: 1,
      // A pod that is not ready must not block the drain of a node.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selectorOf(workload) },
    },
  }
}
