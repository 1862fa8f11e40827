import type { StoredObject } from '../../kube/object.ts'

/** What a sink is told when everything is deleted. */
export interface DeletedNotice {
  readonly self: StoredObject
  /** RFC 3339. */
  readonly evaluationTime: string
  readonly targets: readonly unknown[]
}

/** CloudEvents 1.0 over HTTP, binary mode. The id follows from the object, so that a second delivery can be told. */
export function deletedEvent({ self, evaluationTime, targets }: DeletedNotice): {
  headers: Record<string, string>
  body: string
} {
  const { name, namespace = '', uid } = self.metadata
  return {
    headers: {
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-type': 'conditionalTTL.deleted',
      'ce-source': 'cleaner.vtex.io/finalizer',
      'ce-id': uid,
      'ce-time': evaluationTime,
    },
    body: JSON.stringify({ name, namespace, targets }),
  }
}

/** Sends the event; throws when the sink does not take it within ten seconds. */
export async function sendEvent(sink: string, { headers, body }: ReturnType<typeof deletedEvent>): Promise<void> {
  const response = await fetch(sink, {
    method: 'POST',
    headers,
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the sink answered ${response.status}`)
}
