import { jsonIn } from '../../../kube/basics/json.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Conversion } from './conversion.ts'

interface Metric {
  readonly type?: string
  readonly resource?: {
    readonly name?: string
    readonly target?: { readonly type?: string; readonly averageUtilization?: number }
    readonly current?: { readonly averageUtilization?: number }
  }
}

const metricsAnnotation = 'autoscaling.alpha.kubernetes.io/metrics'
const behaviorAnnotation = 'autoscaling.alpha.kubernetes.io/behavior'

/** Version 1 has only the CPU metric; it carries the other fields of version 2 in annotations. */
export const autoscalerConversion: Conversion = { storageVersion: 'autoscaling/v2', toStored, fromStored }

function toStored(object: KubeObject): KubeObject {
  const { targetCPUUtilizationPercentage: percentage, ...spec } = fields(object.spec)
  const { currentCPUUtilizationPercentage: current, ...status } = fields(object.status)
  const annotations = { ...object.metadata.annotations }
  const others = parse<Metric[]>(annotations[metricsAnnotation]) ?? []
  const behavior = parse(annotations[behaviorAnnotation])
  delete annotations[metricsAnnotation]
  delete annotations[behaviorAnnotation]
  const cpu =
    percentage === undefined ? [] : [{ type: 'Resource', resource: { name: 'cpu', target: utilization(percentage) } }]
  const currentMetrics =
    current === undefined
      ? {}
      : { currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }] }
  const metrics = [...others, ...cpu]
  return {
    ...object,
    apiVersion: 'autoscaling/v2',
    metadata: withAnnotations(object, annotations),
    spec: { ...spec, ...(metrics.length > 0 ? { metrics } : {}), ...(behavior === undefined ? {} : { behavior }) },
    status: { ...status, ...currentMetrics },
  }
}

function fromStored(object: KubeObject): KubeObject {
  const { metrics, behavior, ...spec } = fields(object.spec)
  const { currentMetrics, conditions: _conditions, ...status } = fields(object.status)
  const all = (metrics ?? []) as readonly Metric[]
  const cpu = all.find(isCpu)
  const others = all.filter((metric) => metric !== cpu)
  const annotations = {
    ...object.metadata.annotations,
    ...(others.length > 0 ? { [metricsAnnotation]: JSON.stringify(others) } : {}),
    ...(behavior === undefined ? {} : { [behaviorAnnotation]: JSON.stringify(behavior) }),
  }
  const current = ((currentMetrics ?? []) as readonly Metric[]).find(isCpu)?.resource?.current?.averageUtilization
  const percentage = cpu?.resource?.target?.averageUtilization
  return {
    ...object,
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(object, annotations),
    spec: { ...spec, ...(percentage === undefined ? {} : { targetCPUUtilizationPercentage: percentage }) },
    status: { ...status, ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }) },
  }
}

function isCpu({ type, resource }: Metric): boolean {
  return type === 'Resource' && resource?.name === 'cpu' && (resource.target?.type ?? 'Utilization') === 'Utilization'
}

function utilization(averageUtilization: unknown) {
  return { type: 'Utilization', averageUtilization }
}

function withAnnotations({ metadata }: KubeObject, annotations: Readonly<Record<string, string>>) {
  const { annotations: _old, ...rest } = metadata
  return Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** The JSON value of an annotation; undefined when it is not JSON. */
function parse<T>(text: string | undefined): T | undefined {
  return text === undefined ? undefined : (jsonIn(text) as T | undefined)
}
