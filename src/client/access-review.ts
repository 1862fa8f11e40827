import { clusterScoped } from '../kube/core-types.ts'
import type { Client } from './client.ts'

/**
 * Asks the cluster whether a user may do something: the `spec` of a SubjectAccessReview, or of a SelfSubjectAccessReview where it names no
 * user. Throws when it does not answer.
 */
export async function isAllowed(client: Client, spec: Readonly<Record<string, unknown>>): Promise<boolean> {
  const kind = 'user' in spec ? 'SubjectAccessReview' : 'SelfSubjectAccessReview'
  const status = await review<{ allowed?: boolean }>(client, { group: 'authorization.k8s.io', kind, spec })
  return status?.allowed === true
}

interface UserInfo {
  readonly username?: string
  readonly groups?: readonly string[]
}

/** The name of the user that the API server sees. Throws Unauthorized when it accepts no credentials of this client. */
export async function whoAmI(client: Client): Promise<string> {
  const kind = 'SelfSubjectReview'
  const status = await review<{ userInfo?: UserInfo }>(client, { group: 'authentication.k8s.io', kind })
  return status?.userInfo?.username ?? ''
}

/** The user of a token; undefined when the cluster does not accept it. */
export async function userOfToken(client: Client, token: string): Promise<UserInfo | undefined> {
  type Status = { authenticated?: boolean; user?: UserInfo }
  const asked = { group: 'authentication.k8s.io', kind: 'TokenReview', spec: { token } }
  const status = await review<Status>(client, asked)
  return status?.authenticated ? status.user : undefined
}

async function review<Status>(
  client: Client,
  { group, kind, spec }: { readonly group: string; readonly kind: string; readonly spec?: unknown },
): Promise<Status | undefined> {
  const object = { apiVersion: `${group}/v1`, kind, metadata: {}, ...(spec === undefined ? {} : { spec }) }
  return (await client.create<{ status?: Status }>(clusterScoped(object.apiVersion, kind), object)).status
}
