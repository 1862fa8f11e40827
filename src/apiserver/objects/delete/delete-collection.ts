import { placeOf } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Document } from '../../store/document.ts'
import { decideDelete } from './delete-object.ts'
import { parseDeleteOptions } from '../contract/delete-options.ts'
import { listObjects } from '../read/list-objects.ts'
import type { DeleteCollectionRequest, ListResult } from '../contract/request.ts'
import type { WritePorts } from '../contract/write-object.ts'

/** Deletes what a list selects, one by one; what is gone already does not matter. Answers the list. */
export async function deleteCollection(ports: WritePorts, request: DeleteCollectionRequest): Promise<ListResult> {
  const { type, user } = request
  const options = parseDeleteOptions(request)
  const list = await listObjects(ports, request)
  const deleted: (readonly Document[])[] = []
  for await (const chunk of list.items) {
    deleted.push(chunk)
    const attempts = chunk.map(({ value: { metadata } }) => {
      const { name, namespace } = metadata
      const one = { type, user, ...placeOf({ name, namespace }) }
      return ports.write((view) => decideDelete(ports, view, { request: one, options })).catch(ignoring('NotFound'))
    })
    await Promise.all(attempts)
  }
  return { metadata: list.metadata, items: chunksOf(deleted) }
}

async function* chunksOf<T>(chunks: readonly T[]): AsyncGenerator<T> {
  yield* chunks
}
