import { type Client, watchRequest, type WatchOptions } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { ParseRefusal } from '../../parsing/parse-refusal.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { WatchEvent } from '../../kube/transport.ts'

/** What it takes to follow a cluster; every Client has it. */
export type ApiReader = Pick<Client, 'cluster' | 'list' | 'request'>

/** Opens a watch. Unlike an iterator that has not begun, the promise tells whether the server is there and willing. */
export async function openWatch(
  reader: ApiReader,
  type: ResourceType,
  options: WatchOptions,
): Promise<AsyncIterable<unknown>> {
  const { stream } = await reader.request(watchRequest(type, options))
  if (!stream) throw new TransportError(`the watch of ${type.plural} was answered without a stream`)
  return stream
}

/** An event as it should be, or an error: what the server reports, or that it does not speak the protocol. */
export function checkedEvent(event: unknown): WatchEvent<StoredObject> {
  const { type, object } = (event ?? {}) as Partial<WatchEvent<StoredObject>>
  if (type === 'ERROR') throw StatusError.from((object as { code?: number } | undefined)?.code ?? 500, object)
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED' && type !== 'BOOKMARK')
    throw new GarbledError('a watch sent something that is not an event')
  checkObject(object, type !== 'BOOKMARK')
  return event as WatchEvent<StoredObject>
}

/** Throws unless this is an object with a version and, where it needs one, a name. */
export function checkObject(object: unknown, named = true): asserts object is StoredObject {
  const { metadata } = (object ?? {}) as Partial<StoredObject>
  if (typeof metadata?.resourceVersion !== 'string' || (named && typeof metadata.name !== 'string'))
    throw new GarbledError('the server sent something that is not an object')
}

/** The other side sent what no API server sends: nothing it has said can be relied on, so all is listed anew. */
export class GarbledError extends TransportError {}

/** Whether a failure means that the stream's content, rather than its connection, was broken. */
export function isGarbled(error: unknown): boolean {
  if (error instanceof GarbledError) return true
  const cause = error instanceof TransportError ? error.cause : undefined
  return cause instanceof SyntaxError || cause instanceof ParseRefusal
}
