import { compile } from '../../../cel/compile.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { CelCompileError, CelError } from '../../../cel/errors.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import { dynType, timestampType } from '../../../cel/types.ts'
import type { Resource } from '../model/resource.ts'
import { hit, miss, onlyParameters, type Rule } from './rule.ts'

const environment = kubernetesEnvironment({
  object: dynType,
  resource: dynType,
  tags: dynType,
  use: dynType,
  now: timestampType,
})

/** A CEL expression over `object`, `resource`, `tags`, `use` and `now`; anything but true or false leaves it undecided. */
export const expressionRule: Rule = {
  compile(parameters) {
    onlyParameters(parameters, 'expression', 'says')
    const { expression, says } = parameters
    if (typeof expression !== 'string') throw new Error('expression must be a CEL expression')
    const program = compile(expression, environment)
    if (program instanceof CelCompileError) throw new Error(`expression cannot be compiled: ${program.message}`)
    if (program.type.kind !== 'bool' && program.type.kind !== 'dyn')
      throw new Error(`expression gives a ${program.type.kind}: it must give true or false`)
    const sentence = typeof says === 'string' ? says : `it satisfies ${expression}`
    return ({ resource }, now) => {
      const result = program.evaluate({
        object: resource.object,
        resource: viewOf(resource),
        tags: resource.tags,
        use: resource.use,
        now: CelTimestamp.fromMilliseconds(now),
      })
      if (result === true) return hit(sentence)
      if (result === false) return miss
      const because = result instanceof CelError ? faultOf(result, expression) : 'it gives neither true nor false'
      return { hit: 'undecided', because, isFault: true }
    }
  },
}

/** What failed, with the missing field where the expression itself names it: other keys may be data. */
function faultOf({ message, shown }: CelError, expression: string): string {
  const field = /^no such key: ([\w-]+)$/.exec(message)?.[1]
  return field !== undefined && expression.includes(field) ? message : shown
}

function viewOf({ kind, namespace = '', name, cluster, account = '', region = '', facts = {} }: Resource) {
  return { kind, namespace, name, cluster, account, region, ...facts }
}
