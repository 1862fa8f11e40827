import { fill, items, part, type Defaulter, type Json } from './fill.ts'
import { given } from '../validation/parts/checks.ts'

/** Defaults of the core group, without pods and workloads. */
export const coreDefaults: Readonly<Record<string, Defaulter>> = {
  'core/v1.Service': fillService,
  'core/v1.Secret': mergeStringData,
  'core/v1.Namespace': (namespace) => {
    const metadata = part(namespace, 'metadata')
    if (metadata.name) part(metadata, 'labels')['kubernetes.io/metadata.name'] = metadata.name
  },
  'core/v1.Node': (node) => {
    const status = given(node, 'status')
    const capacity = status && given(status, 'capacity')
    if (status && capacity) fill(status, { allocatable: { ...capacity } })
  },
  'core/v1.PersistentVolume': (volume) =>
    fill(part(volume, 'spec'), { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }),
  'core/v1.LimitRangeItem': fillLimits,
}

function fillService(service: Json): void {
  const spec = part(service, 'spec')
  fill(spec, { sessionAffinity: 'None', type: 'ClusterIP' })
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP')
    fill(part(part(spec, 'sessionAffinityConfig'), 'clientIP'), { timeoutSeconds: 10_800 })
  for (const port of items(spec, 'ports')) {
    fill(port, { protocol: 'TCP' })
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port
  }
  const { type } = spec
  const isReachable = type === 'NodePort' || type === 'LoadBalancer'
  const hasExternalIps = type === 'ClusterIP' && Array.isArray(spec.externalIPs) && spec.externalIPs.length > 0
  if (isReachable || hasExternalIps) fill(spec, { externalTrafficPolicy: 'Cluster' })
  if (isReachable || type === 'ClusterIP') fill(spec, { internalTrafficPolicy: 'Cluster' })
  if (type === 'LoadBalancer') fillLoadBalancer(service, spec)
}

function fillLoadBalancer(service: Json, spec: Json): void {
  fill(spec, { allocateLoadBalancerNodePorts: true })
  for (const ingress of items(part(part(service, 'status'), 'loadBalancer'), 'ingress')) {
    if (ingress.ip) fill(ingress, { ipMode: 'VIP' })
  }
}

/** Moves the write-only `stringData` into `data`. */
function mergeStringData(secret: Json): void {
  const text = given(secret, 'stringData')
  if (!text) return
  const data = part(secret, 'data')
  for (const [key, value] of Object.entries(text)) {
    if (typeof value === 'string') data[key] = Buffer.from(value, 'utf8').toString('base64')
  }
  delete secret.stringData
}

function fillLimits(item: Json): void {
  if (item.type !== 'Container') return
  const limits = { ...given(item, 'default') }
  const requests = { ...given(item, 'defaultRequest') }
  fill(limits, given(item, 'max') ?? {})
  fill(requests, limits)
  fill(requests, given(item, 'min') ?? {})
  if (Object.keys(limits).length > 0) item.default = limits
  if (Object.keys(requests).length > 0) item.defaultRequest = requests
}
