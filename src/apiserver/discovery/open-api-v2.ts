import { parseAccept } from '../http/request/accept.ts'
import type { EdgeRequest } from '../http/request/edge-request.ts'
import type { Answer } from '../http/response/answer.ts'
import { tableRelease } from '../schema/types/type-table.ts'

/** Clients ask for this type with an `@`; Go's media type parser refuses the `@` in an answer. */
const askedType = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const answeredType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/**
 * The OpenAPI v2 document in protobuf, without definitions, for a client that asks for protobuf. kubectl requires one
 * when it validates a List; it leaves kinds that are not in the document to the server's validation.
 */
export function openApiV2(headers: EdgeRequest['headers']): Answer | undefined {
  const info = { title: 'Kubernetes', version: tableRelease() }
  const wantsProtobuf = parseAccept(headers['accept']).some(({ type }) => type === askedType || type === answeredType)
  if (!wantsProtobuf) return undefined
  const document = Buffer.concat([
    field(1, Buffer.from('2.0')),
    field(2, Buffer.concat([field(1, Buffer.from(info.title)), field(2, Buffer.from(info.version))])),
    field(8, Buffer.alloc(0)),
  ])
  return { status: 200, content: { is: 'stream', type: answeredType, chunks: once(document) } }
}

/** A length-delimited protobuf field; every length here fits in seven bits. */
function field(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(number * 8 + 2, value.length), value])
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk
}
