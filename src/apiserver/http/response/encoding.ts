import { dump } from 'js-yaml'
import { encodeProtobuf, encodeWatchEvent } from '../../schema/wire/protobuf-writer.ts'
import type { Encoding } from './answer.ts'

/** The text or bytes of a value. A value without a protobuf form stays JSON, which its Content-Type tells. */
export function encodeValue(value: unknown, encoding: Encoding) {
  if (encoding === 'yaml') return { body: yamlText(value), type: yamlType }
  const bytes = encoding === 'protobuf' ? encodeProtobuf(value) : undefined
  if (bytes) return { body: bytes, type: protobufType }
  return { body: `${JSON.stringify(value, undefined, 2)}\n` }
}

export const protobufType = 'application/vnd.kubernetes.protobuf'
export const yamlType = 'application/yaml'

/** How the text of a list is made of the texts of its items: long lists are never in memory as a whole. */
export interface ListForm<Item> {
  readonly start: string
  readonly between: string
  readonly end: string
  /** Instead of start and end, where there are no items. */
  readonly empty: string
  readonly item: (item: Item) => string
}

/** A list as indented JSON or YAML. `head` is the list without its items. */
export function listForm(
  head: Readonly<Record<string, unknown>>,
  itemsField: string,
  isYaml: boolean,
): ListForm<unknown> {
  if (!isYaml) {
    const start = `${JSON.stringify(head, undefined, 2).slice(0, -2)},\n  ${JSON.stringify(itemsField)}: [`
    const item = (value: unknown) => `\n    ${JSON.stringify(value, undefined, 2).replaceAll('\n', '\n    ')}`
    return { start, between: ',', end: '\n  ]\n}\n', empty: `${start}]\n}\n`, item }
  }
  const fieldsIn = (isBefore: boolean) =>
    Object.entries(head)
      .filter(([name]) => name < itemsField === isBefore)
      .map(([name, value]) => [name, value] as const)
  const textOf = (fields: ReturnType<typeof fieldsIn>) =>
    fields.length > 0 ? yamlText(Object.fromEntries(fields)) : ''
  const [before, end] = [textOf(fieldsIn(true)), textOf(fieldsIn(false))]
  const item = (value: unknown) => yamlText([value])
  return { start: `${before}${itemsField}:\n`, between: '', end, empty: `${before}${itemsField}: []\n${end}`, item }
}

/** YAML takes a hundred times as long as JSON to write. Larger values are JSON, which is YAML as well. */
const maxYaml = 128 * 1024

/** With everything quoted that YAML 1.1 reads as something else, such as `on` and dates. */
function yamlText(value: unknown): string {
  const json = JSON.stringify(value)
  if (json.length <= maxYaml) return dump(value, yamlOptions)
  return Array.isArray(value) ? `- ${json.slice(1, -1)}\n` : `${json}\n`
}

const yamlOptions = { noRefs: true, lineWidth: -1, seqNoIndent: true, sortKeys: true, quoteStyle: 'single' } as const

/** How a watch is written in protobuf. */
export const protobufWatch = { type: `${protobufType};stream=watch`, frame: encodeWatchEvent }
