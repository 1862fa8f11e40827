import type { StoredObject } from '../../kube/object.ts'
import { knownSecrets } from '../../runtime/observability/known-secrets.ts'
import type { Http } from '../../runtime/http/http.ts'

/** What a sink learns once everything is deleted. */
export interface DeletedNotice {
  readonly self: StoredObject
  /** RFC 3339. */
  readonly evaluationTime: string
  readonly targets: readonly unknown[]
}

/** A CloudEvents 1.0 message in HTTP binary mode. Its id is the Cleaner's uid, so that sinks can drop duplicates. */
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
    body: JSON.stringify({ name, namespace, targets }, withoutSecrets),
  }
}

function withoutSecrets(_: string, value: unknown): unknown {
  return typeof value === 'string' ? knownSecrets.removeFrom(value) : value
}

/** Posts the event; throws when the sink does not accept it within ten seconds. */
export async function sendEvent(
  http: Http,
  sink: string,
  { headers, body }: ReturnType<typeof deletedEvent>,
): Promise<void> {
  const { status } = await http({ method: 'POST', url: sink, headers, body: Buffer.from(body) })
  if (status < 200 || status > 299) throw new Error(`the sink answered ${status}`)
}
