import { fill, part, type Defaulter, type Json } from './fill.ts'
import { given } from '../validation/parts/checks.ts'

const rbac = 'rbac.authorization.k8s.io'

/** Defaults of all groups except core, apps and batch. */
export const groupDefaults: Readonly<Record<string, Defaulter>> = {
  'rbac/v1.Subject': (subject) => {
    if (subject.kind === 'User' || subject.kind === 'Group') fill(subject, { apiGroup: rbac })
  },
  'autoscaling/v2.HorizontalPodAutoscaler': fillScaler,
  'discovery/v1.EndpointPort': (port) => {
    if (port.name === undefined) port.name = ''
  },
  'networking/v1.NetworkPolicy': (policy) => {
    const spec = part(policy, 'spec')
    const hasEgress = Array.isArray(spec.egress) && spec.egress.length > 0
    fill(spec, { policyTypes: hasEgress ? ['Ingress', 'Egress'] : ['Ingress'] })
  },
  'networking/v1.IngressClass': (ingressClass) => {
    const parameters = given(part(ingressClass, 'spec'), 'parameters')
    if (parameters) fill(parameters, { scope: 'Cluster' })
  },
  'apiextensions/v1.CustomResourceDefinition': fillDefinition,
}

function fillScaler(scaler: Json): void {
  const spec = part(scaler, 'spec')
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }
  fill(spec, { minReplicas: 1, metrics: [cpu] })
  const behavior = given(spec, 'behavior')
  if (!behavior) return
  const percent = { type: 'Percent', value: 100, periodSeconds: 15 }
  fill(part(behavior, 'scaleUp'), {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, percent],
  })
  fill(part(behavior, 'scaleDown'), { selectPolicy: 'Max', policies: [{ ...percent }] })
}

function fillDefinition(definition: Json): void {
  const spec = part(definition, 'spec')
  const names = part(spec, 'names')
  const kind = typeof names.kind === 'string' ? names.kind : ''
  fill(names, { singular: kind.toLowerCase(), ...(kind ? { listKind: `${kind}List` } : {}) })
  fill(spec, { conversion: { strategy: 'None' } })
  const status = part(definition, 'status')
  if (Array.isArray(status.storedVersions) && status.storedVersions.length > 0) return
  const stored = Array.isArray(spec.versions)
    ? (spec.versions as Json[]).find((version) => version.storage === true)
    : undefined
  if (stored) status.storedVersions = [stored.name]
}
