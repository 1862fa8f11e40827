import { ignoring } from '../../kube/status-error.ts'
import type { StoredObject } from '../../kube/object.ts'
import { defaultAudience } from '../auth/service-account-tokens.ts'
import { asSystem, builtin, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const secretType = 'kubernetes.io/service-account-token'
const accountName = 'kubernetes.io/service-account.name'
const accountUid = 'kubernetes.io/service-account.uid'
/** Such tokens end with their Secret or ServiceAccount, not at a time. */
const lifetimeSeconds = 100 * 365 * 24 * 3600

/** Fills Secrets of type `kubernetes.io/service-account-token` with a token of the ServiceAccount that they name. */
export function tokenSecretController(ports: LifecyclePorts): LifecycleController {
  const { store, objects, kinds, clock, tokens } = ports
  const isTokenSecret = ({ type }: StoredObject & { readonly type?: unknown }) => type === secretType
  const fill = async (key: string) => {
    const [namespace = '', name = ''] = key.split('/')
    const secret = store.get({ resource: 'secrets', namespace, name })?.document.value
    if (!secret || !isTokenSecret(secret) || secret.metadata.deletionTimestamp) return
    const { uid: secretUid, annotations = {} } = secret.metadata
    const account = annotations[accountName] ?? ''
    const uid = store.get({ resource: 'serviceaccounts', namespace, name: account })?.uid
    const { token } = (secret['data'] ?? {}) as { readonly token?: string }
    if (!uid || (token && annotations[accountUid] === uid)) return
    const issuedAt = Math.floor(clock.now() / 1000)
    const signed = tokens.sign({
      namespace,
      serviceAccount: { name: account, uid },
      bound: { kind: 'Secret', name, uid: secretUid },
      audiences: [defaultAudience],
      issuedAt,
      expiresAt: issuedAt + lifetimeSeconds,
    })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const body = {
      metadata: { uid: secretUid, annotations: { [accountUid]: uid } },
      data: { token: base64(signed), 'ca.crt': base64(ports.authority), namespace: base64(namespace) },
    }
    const type = builtin(kinds, '', 'secrets')
    await objects
      .patch({ type, namespace, name, ...asSystem, patchType: 'merge', body })
      .catch(ignoring('NotFound', 'Conflict'))
  }
  /** The token Secrets of a namespace, or of all. */
  const addAll = (add: (key: string) => void, namespace?: string) => {
    const all = {
      resource: 'secrets',
      limit: Number.MAX_SAFE_INTEGER,
      ...(namespace === undefined ? {} : { namespace }),
    }
    for (const record of store.scan(all))
      if (isTokenSecret(record.document.value)) add(`${record.namespace}/${record.name}`)
  }
  return runController(ports, 'token-secrets', {
    reconcile: fill,
    follow: (add) => {
      addAll(add)
      return store.subscribe((events) => {
        for (const { resource, namespace, name, type, document } of events) {
          if (resource === 'secrets' && type !== 'delete' && isTokenSecret(document.value)) add(`${namespace}/${name}`)
          if (resource === 'serviceaccounts' && type === 'create') addAll(add, namespace)
        }
      })
    },
  })
}
