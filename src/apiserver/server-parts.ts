import type { Access } from './auth/access.ts'
import { Authenticator } from './auth/authenticator.ts'
import { loadCredentials, type Credentials } from './auth/credentials.ts'
import { escalationCheck } from './auth/escalation.ts'
import { authorize, type Verdict } from './auth/rbac.ts'
import { RoleIndex } from './auth/role-index.ts'
import { ServiceAccountTokens } from './auth/service-account-tokens.ts'
import { Kinds } from './kinds/kinds.ts'
import { Objects } from './objects/objects.ts'
import type { User } from './objects/contract/request.ts'
import type { ApiServerOptions } from './options.ts'

/** The parts of a server that do not depend on HTTP. */
export interface ServerParts {
  readonly credentials: Credentials
  readonly kinds: Kinds
  readonly objects: Objects
  readonly roles: RoleIndex
  readonly serviceAccounts: ServiceAccountTokens
  readonly authenticator: Authenticator
  readonly uidOf: (resource: string, namespace: string, name: string) => string | undefined
  authorize(user: User, access: Access): Verdict
  close(): void
}

/** Creates the parts of a server on a store. */
export function createServerParts(options: ApiServerOptions): ServerParts {
  const { store, clock, random, uid, cascades, deletionRecords, tracksFields, admission = [] } = options
  const credentials = credentialsFor(options)
  const roles = new RoleIndex(store)
  const kinds = new Kinds({ clock })
  // Before `Objects`: a CRD's kind must be served when the create of the CRD is answered.
  const unfollow = kinds.follow(store)
  const objects = new Objects({
    store,
    kinds,
    clock,
    random,
    uid,
    admission: [escalationCheck(roles), ...admission],
    ...(cascades ? { cascades } : {}),
    ...(deletionRecords ? { deletionRecords } : {}),
    ...(tracksFields === undefined ? {} : { tracksFields }),
  })
  const serviceAccounts = new ServiceAccountTokens(credentials.serviceAccountKey)
  const uidOf: ServerParts['uidOf'] = (resource, namespace, name) => store.get({ resource, namespace, name })?.uid
  return {
    credentials,
    kinds,
    objects,
    roles,
    serviceAccounts,
    authenticator: new Authenticator({ tokens: credentials.tokens, serviceAccounts, uidOf, clock }),
    uidOf,
    authorize: (user, access) => authorize(roles, user, access),
    close: () => {
      objects.close()
      unfollow()
      roles.close()
    },
  }
}

const loopback = ['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc']

function credentialsFor({ clock, hosts = [], credentialsDirectory }: ApiServerOptions): Credentials {
  return loadCredentials({
    hosts: [...new Set([...loopback, ...hosts])],
    now: clock.now(),
    ...(credentialsDirectory ? { directory: credentialsDirectory } : {}),
  })
}
