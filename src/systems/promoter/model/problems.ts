import type { PipelineSpec } from '../../../apis/pipeline.ts'
import { subdomainFaults } from '../../../kube/names.ts'
import { isSecret } from '../../../kube/redact.ts'
import { expressionProblem } from './adapter.ts'
import { PlanError, planOf } from './plan.ts'

/** What is wrong with a pipeline's spec, by field, beyond what its schema checks. Used at admission. */
export function pipelineProblems(
  spec: PipelineSpec,
  namespace: string,
): readonly { readonly field: string; readonly message: string }[] {
  return [
    ...planProblem(spec, namespace),
    ...secretProblems(spec),
    ...nameProblems(spec, 'spec'),
    ...expressionProblems(spec.adapter),
  ]
}

/** An adapter shows parts of the application in the status, so the application must not be a Secret. */
function secretProblems({ appRef }: PipelineSpec): { field: string; message: string }[] {
  if (!appRef || !isSecret({ ...appRef, apiVersion: 'v1' })) return []
  return [{ field: 'spec.appRef.kind', message: 'must not be Secret: its content would show in the status' }]
}

/** Every reference to a Secret names one of the Pipeline's own namespace. */
function nameProblems(value: unknown, field: string): { field: string; message: string }[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = Array.isArray(value) ? `${field}[${key}]` : `${field}.${key}`
    if (key !== 'secretRef' && key !== 'signingKeyRef') return nameProblems(inner, path)
    const { name } = inner as { readonly name?: unknown }
    if (name === undefined || (typeof name === 'string' && subdomainFaults(name).length === 0)) return []
    return [{ field: `${path}.name`, message: 'must be the name of a Secret in this namespace' }]
  })
}

function planProblem(spec: PipelineSpec, namespace: string): { field: string; message: string }[] {
  try {
    planOf(spec, namespace)
    return []
  } catch (error) {
    if (error instanceof PlanError) return [{ field: error.field, message: error.problem }]
    throw error
  }
}

function expressionProblems(adapter: PipelineSpec['adapter'] = {}): { field: string; message: string }[] {
  return (['healthy', 'revision', 'value'] as const).flatMap((name) => {
    const expression = adapter[name]
    const message = expression && expressionProblem(expression, name === 'value' ? 'revision' : 'self')
    return message ? [{ field: `spec.adapter.${name}`, message }] : []
  })
}
