import type { Pipeline } from '../../../apis/pipeline.ts'

/** Why an event of pipeline-controller's webhook does not fit the pipeline, by the same rules; undefined when it does. */
export function hintProblem(
  { spec }: Pipeline,
  environment: string,
  event: Readonly<Record<string, unknown>>,
): string | undefined {
  const { revision } = (event['metadata'] ?? {}) as { readonly revision?: unknown }
  if (typeof revision !== 'string' || revision === '') return 'the event has no revision'
  const index = spec.environments.findIndex(({ name }) => name === environment)
  const source = spec.environments[index]
  if (!source) return `the pipeline has no environment "${environment}"`
  const next = spec.environments[index + 1]
  if (!next) return `"${environment}" is the last environment`
  if (next.targets.length === 0) return `"${next.name}" has no targets`
  const { apiVersion, kind, name, namespace } = (event['involvedObject'] ?? {}) as Record<string, unknown>
  const app = source.appRef ?? spec.appRef
  if (apiVersion !== app.apiVersion || kind !== app.kind || name !== app.name)
    return 'the event is about another application than the pipeline'
  if (!source.targets.some((target) => target.namespace === namespace))
    return 'the event is from a namespace that is not a target'
  return undefined
}
