import { knownSecrets } from './known-secrets.ts'

/** A value as it may appear in a log: secrets left out, errors spelled out, keys as text, bounded in depth and length. */
export function loggable(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
      return withoutSecrets(value.length > maxLength ? `${value.slice(0, maxLength)}…` : value)
    case 'number':
    case 'boolean':
    case 'undefined':
      return value
    case 'object':
      return value === null ? null : fromObject(value, depth)
    case 'bigint':
    case 'symbol':
    case 'function':
      return String(value)
  }
}

const maxLength = 4096
const deepest = 6
const hidden = '[hidden]'

/** Names of fields whose values must not appear in a log. */
const secretName =
  /^(authorization|cookie|set-cookie|.*(password|passwd|token|apikey|api-key|api_key|secretkey|client.?secret|private.?key|hmac.?key|client-key-data|kubeconfig)(data)?)$/i

/** What gives access wherever it stands: bearer tokens, passwords in addresses, incoming webhooks. */
const secretText = /\b(Bearer|Basic) +[\w.~+/=-]{8,}|(?<=:\/\/)[^\s/@:]+:[^\s/@]+(?=@)|(?<=hooks\.slack\.com\/)[\w/-]+/g

function withoutSecrets(text: string): string {
  return knownSecrets.removeFrom(text).replace(secretText, hidden)
}

function fromObject(value: object, depth: number): unknown {
  if (value instanceof Error) return fromError(value, depth)
  if (depth >= deepest) return '…'
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => loggable(item, depth + 1))
  if (value instanceof Map || value instanceof Set) return loggable([...value], depth)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (isKey(value)) return [value.cluster, value.kind, value.namespace, value.name].filter(Boolean).join('/')
  const isSecret = (value as { kind?: unknown }).kind === 'Secret'
  const entries = Object.entries(value).map(([name, field]) => {
    if (isSecret && (name === 'data' || name === 'stringData')) return [name, hidden]
    if (field !== undefined && field !== null && secretName.test(name)) return [name, hidden]
    return [name, loggable(field, depth + 1)]
  })
  return Object.fromEntries(entries)
}

/** A programming error shows where it was; a failure that has a reason of its own needs no stack. */
function fromError(error: Error, depth: number): unknown {
  const { name, message, cause } = error
  const reason = (error as { reason?: unknown }).reason
  return {
    name,
    message: loggable(message),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(isBug(error) && error.stack ? { stack: error.stack.split('\n').slice(1, 6).join('\n') } : {}),
    ...(cause === undefined || depth >= deepest ? {} : { cause: loggable(cause, depth + 1) }),
  }
}

function isBug({ name }: Error): boolean {
  return ['Error', 'TypeError', 'RangeError', 'ReferenceError', 'AssertionError'].includes(name)
}

function isKey(value: object): value is { cluster: string; kind: string; namespace: string; name: string } {
  const { length } = Object.keys(value)
  return length === 4 && 'cluster' in value && 'kind' in value && 'namespace' in value && 'name' in value
}
