import { request } from 'node:https'
import type { ClusterRole } from '../../src/app/install/rbac.ts'
import type { TenantWorld } from './tenant-world.ts'

const rbac = 'rbac.authorization.k8s.io'

export interface Call {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly body: string
}

/** Sends requests to the server of a role; with the token of an account where one is given. */
export function callsTo(world: TenantWorld, role: ClusterRole, token?: string): (call: Call) => Promise<Answer> {
  return ({ method = 'POST', path, headers = {}, body = '' }) =>
    new Promise((resolve, reject) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const options = { method, agent: false, rejectUnauthorized: false, headers: { ...authorization, ...headers } }
      const sent = request(new URL(path, world.serverOf(role)), options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
}

/** The token of a new ServiceAccount of namespace a, which has the rights of a tenant there and may call all of Sojourn's routes. */
export async function tenantToken(world: TenantWorld, name = 'caller'): Promise<string> {
  const metadata = { namespace: 'a', name }
  await world.create('administrator', { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
  const rules = [{ nonResourceURLs: ['*'], verbs: ['get', 'post'] }]
  await world.create('administrator', { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules })
  const subjects = [{ kind: 'ServiceAccount', ...metadata }]
  const bound = (role: string) => ({ roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role }, subjects })
  await world.create('administrator', {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    ...bound(name),
  })
  for (const role of ['edit', 'tenant-kinds'])
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { namespace: 'a', name: `${name}-${role}` },
      ...bound(role),
    })
  const user = `system:serviceaccount:a:${name}`
  await world.may(user, { verb: 'get', group: 'pipelines.weave.works', resource: 'pipelines', namespace: 'a' }, true)
  await world.may(user, { verb: 'get', group: '', resource: 'configmaps', namespace: 'a' }, true)
  const { body } = await world.as('administrator').request({
    method: 'POST',
    path: `/api/v1/namespaces/a/serviceaccounts/${name}/token`,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  })
  return (body as { status: { token: string } }).status.token
}
