/** Texts that cost a careless parser much more than they cost their sender. */
export interface HostileText {
  /** Its number among the attacks, and what it is. */
  readonly name: string
  readonly type: 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf'
  readonly bytes: Buffer
}

const mib = 1024 * 1024

export const hostileTexts: readonly HostileText[] = [
  yaml('82: a cycle', 'a: &a\n- *a\n- *a\n'),
  yaml('83: brackets', '['.repeat(200_000)),
  yaml('83: three megabytes of brackets', '['.repeat(3 * mib)),
  yaml('84: 600 aliases', `a: &a x\nb:\n${'- *a\n'.repeat(600)}`),
  yaml('84: 8,000 aliases', `a: &a {b: c}\nb:\n${'- *a\n'.repeat(8000)}`),
  yaml('85: billion laughs', laughs()),
  yaml('86: merges', merges()),
  yaml('87: comments', `${'#\n'.repeat(1_500_000)}[`),
  yaml('three megabytes of list items', '- a\n'.repeat(786_000)),
  yaml('100,000 keys, twice', `${keys()}${keys()}[`),
  json('83: brackets in JSON', '['.repeat(3 * mib)),
  json('three megabytes of JSON, cut short', `{"a":[${'{},'.repeat(1_048_000)}`),
  json('a million empty objects', `[${'{},'.repeat(1_000_000)}{}]`),
  protobuf('90: a million empty containers', podWith(Buffer.from('1200'.repeat(500_000), 'hex'))),
  protobuf('90: nested schemas', nestedSchemas()),
]

function yaml(name: string, text: string): HostileText {
  return { name, type: 'application/yaml', bytes: Buffer.from(text) }
}

function json(name: string, text: string): HostileText {
  return { name, type: 'application/json', bytes: Buffer.from(text) }
}

function protobuf(name: string, bytes: Buffer): HostileText {
  return { name, type: 'application/vnd.kubernetes.protobuf', bytes }
}

function laughs(): string {
  const nine = Array.from({ length: 9 })
  const lines = nine.map((_, index) => `a${index + 1}: &a${index + 1} [${nine.map(() => `*a${index}`).join(', ')}]`)
  return ['a0: &a0 [lol]', ...lines].join('\n')
}

function merges(): string {
  const base = Array.from({ length: 2000 }, (_, index) => `k${index}: 1`).join(', ')
  return `a: &a {${base}}\n${Array.from({ length: 99 }, (_, index) => `m${index}: {<<: *a}`).join('\n')}`
}

function keys(): string {
  return Array.from({ length: 100_000 }, (_, index) => `key${index}: 1\n`).join('')
}

/** A Pod whose spec is these bytes. */
function podWith(spec: Buffer): Buffer {
  return envelope('v1', 'Pod', field(2, spec))
}

/** A CRD whose schema is nested 20,000 deep, by `not` (field 28 of JSONSchemaProps). */
function nestedSchemas(): Buffer {
  let schema: Buffer = Buffer.alloc(0)
  for (let depth = 0; depth < 20_000; depth++) schema = field(28, schema)
  const version = Buffer.concat([field(1, Buffer.from('v1')), field(4, field(1, schema))])
  return envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', field(2, field(7, version)))
}

function envelope(apiVersion: string, kind: string, object: Buffer): Buffer {
  const type = Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, object)])
}

function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}
