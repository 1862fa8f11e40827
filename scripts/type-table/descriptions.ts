import { openApiName } from '../../src/apiserver/schema/openapi/components.ts'
import type { OpenApiFacts } from './open-api.ts'
import type { Table } from './table.ts'

/** What `kubectl explain` shows of the types of the table: the first sentence of each description, by OpenAPI name. */
export function describeTypes({ types, release }: Table, { definitions }: OpenApiFacts): string {
  const lines = Object.keys(types).flatMap((id) => {
    const name = openApiName(id)
    const definition = definitions.get(name)
    if (!definition) return []
    const fields = Object.entries(definition.properties ?? {}).map(([field, property]) => [
      field,
      firstSentence(property.description),
    ])
    const row = [firstSentence(definition.description), Object.fromEntries(fields.filter(([, text]) => text !== ''))]
    return `${JSON.stringify(name)}:${JSON.stringify(row)}`
  })
  const source = `Kubernetes ${release}, The Kubernetes Authors, Apache License 2.0`
  return `{"source":${JSON.stringify(source)},\n"types":{\n${lines.join(',\n')}}}\n`
}

function firstSentence(description = ''): string {
  const [paragraph = ''] = description.split('\n')
  return /^.*?\.(?= [A-Z]|$)/.exec(paragraph)?.[0] ?? paragraph
}
