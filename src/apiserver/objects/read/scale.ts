import { type KubeObject, type StoredObject, placeOf } from '../../../kube/object.ts'
import { formatSelector, requirementsOf, type LabelSelector } from '../../../kube/selector.ts'
import type { ScalePaths, ServedKind } from '../../kinds/contract/served-kind.ts'
import { invalid, invalidValue } from '../../schema/types/field-error.ts'
import { readOwn } from '../../../kube/basics/json.ts'

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

/** The Scale subresource of an object: desired and actual replicas, and the pod selector. */
export function scaleOf(type: ServedKind, object: StoredObject): StoredObject {
  const paths = pathsOf(type)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const replicas = read(object, paths.specReplicasPath)
  const selector = selectorText(paths.labelSelectorPath && read(object, paths.labelSelectorPath))
  return {
    kind: scaleKind.kind,
    apiVersion: 'autoscaling/v1',
    metadata: { ...placeOf({ name, namespace }), uid, resourceVersion, creationTimestamp },
    spec: typeof replicas === 'number' && replicas !== 0 ? { replicas } : {},
    status: { replicas: Number(read(object, paths.statusReplicasPath) ?? 0), ...(selector ? { selector } : {}) },
  }
}

/** Writes the replicas of a Scale into its object; throws Invalid for a negative number. */
export function withReplicas(type: ServedKind, object: KubeObject, scale: KubeObject): KubeObject {
  const replicas = (scale.spec as { readonly replicas?: number } | undefined)?.replicas ?? 0
  if (replicas < 0)
    throw invalid(scaleKind, scale.metadata.name ?? '', [
      invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ])
  return write(object, pathsOf(type).specReplicasPath.split('.'), replicas) as KubeObject
}

function pathsOf({ scale, kind }: ServedKind): ScalePaths {
  if (!scale) throw new Error(`${kind} has no scale`)
  return scale
}

function read(object: unknown, path: string): unknown {
  return readOwn(object, path.split('.'))
}

function write(at: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  if (step === '') return value
  const container = typeof at === 'object' && at !== null ? (at as Record<string, unknown>) : {}
  return { ...container, [step]: write(container[step], rest, value) }
}

function selectorText(selector: unknown): string {
  if (typeof selector === 'string') return selector
  if (typeof selector !== 'object' || selector === null) return ''
  const isSpecSelector = 'matchLabels' in selector || 'matchExpressions' in selector
  const requirements = isSpecSelector
    ? (selector as LabelSelector)
    : { matchLabels: selector as Record<string, string> }
  return formatSelector(requirementsOf(requirements))
}
