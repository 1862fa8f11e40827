import type { GroupVersionKind } from '../../../kube/object.ts'
import type { User } from '../../objects/contract/request.ts'

/** A request whose sender is known, whichever way it came. */
export interface EdgeRequest {
  readonly method: string
  /** Still percent-encoded; no query. */
  readonly path: string
  /** First values only, but for `dryRun`. */
  readonly query: Readonly<Record<string, string>>
  readonly dryRun: readonly string[]
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly user: User
  readonly body: RequestBody
  readonly signal?: AbortSignal
}

/** A body that is decoded only when somebody wants it, and knows what it should be. */
export interface RequestBody {
  readonly isEmpty: boolean
  /** As the Content-Type says, without its parameters. */
  readonly mediaType: string
  /** Throws UnsupportedMediaType for another type of body, and UnreadableBody for one that cannot be read. */
  decode(expected: { readonly types: readonly BodyType[]; readonly assume?: GroupVersionKind }): DecodedBody
}

export type BodyType = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf' | PatchBodyType

type PatchBodyType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml'

export interface DecodedBody {
  readonly value: unknown
  readonly duplicates: readonly string[]
  readonly type: BodyType
}

/** The types of body that hold an object. */
export const objectTypes: readonly BodyType[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
]
