import type { GroupVersionKind } from '../../../kube/object.ts'
import type { User } from '../../objects/contract/request.ts'

/** A request whose sender is authenticated, from the network or from the same process. */
export interface EdgeRequest {
  readonly method: string
  /** Still percent-encoded; no query. */
  readonly path: string
  /** First values only; `dryRun` has all of its values. */
  readonly query: Readonly<Record<string, string>>
  readonly dryRun: readonly string[]
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly user: User
  readonly body: RequestBody
  readonly signal?: AbortSignal
}

/** A body that is decoded on demand, once the endpoint knows the expected kind. */
export interface RequestBody {
  readonly isEmpty: boolean
  /** The Content-Type without its parameters. */
  readonly mediaType: string
  /** Throws UnsupportedMediaType for another type of body, UnreadableBody for one that cannot be read, TooManyRequests. */
  decode(expected: { readonly types: readonly BodyType[]; readonly assume?: GroupVersionKind }): Promise<DecodedBody>
}

/** The media types the server can decode. */
export type BodyType = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf' | PatchBodyType

type PatchBodyType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml'

/** A parsed body. */
export interface DecodedBody {
  readonly value: unknown
  /** Fields or keys that occur more than once, as sentences. */
  readonly duplicates: readonly string[]
  readonly type: BodyType
}

/** The media types of a body that is an object. */
export const objectTypes: readonly BodyType[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
]
