import type { PipelineSpec } from '../../../apis/pipeline.ts'
import { expressionProblem } from './adapter.ts'
import { PlanError, planOf } from './plan.ts'

/** What is wrong with a pipeline's spec, by field, beyond what its schema checks. Used at admission. */
export function pipelineProblems(
  spec: PipelineSpec,
  namespace: string,
): readonly { readonly field: string; readonly message: string }[] {
  return [...planProblem(spec, namespace), ...expressionProblems(spec.adapter)]
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
