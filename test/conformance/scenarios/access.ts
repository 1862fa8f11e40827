import type { Scenario, Step } from '../target.ts'

const review = (group: string, plural: string, body: unknown, as?: string): Step => ({
  method: 'POST',
  path: `/apis/${group}.k8s.io/v1/${plural}`,
  body,
  ...(as ? { as } : {}),
})
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/NS'
const role = (name: string, ...resources: string[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name },
  rules: [{ apiGroups: [''], resources, verbs: ['get', 'list'] }],
})
const binding = (name: string, roleName: string, user: string, kind = 'Role') => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: roleName },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
})

/** Who may do what, and how it is said. */
export const access: Scenario = {
  name: 'access',
  steps: [
    { path: '/api/v1/namespaces/NS/configmaps', as: 'bob' },
    { path: '/api/v1/namespaces/NS/configmaps/x', as: 'bob' },
    { path: '/api/v1/namespaces/NS/pods/x/log', as: 'bob' },
    { path: '/api/v1/nodes', as: 'bob' },
    { path: '/api/v1/namespaces/NS', as: 'bob' },
    { path: '/apis/apps/v1/deployments?watch=true', as: 'bob' },
    { path: '/nowhere', as: 'bob' },
    { method: 'DELETE', path: '/api/v1/namespaces/NS/configmaps', as: 'bob' },
    { method: 'PATCH', path: '/apis/apps/v1/namespaces/NS/deployments/x/scale', body: {}, as: 'bob' },
    { path: '/api/v1/pods', headers: { 'impersonate-group': 'x' } },
    { method: 'POST', path: `${rbac}/roles`, body: role('reader', 'configmaps', 'roles') },
    { method: 'POST', path: `${rbac}/rolebindings`, body: binding('bob', 'reader', 'bob') },
    { path: '/api/v1/namespaces/NS/configmaps/x', as: 'bob' },
    { path: '/api/v1/namespaces/NS/secrets/x', as: 'bob' },
    review(
      'authorization',
      'selfsubjectaccessreviews',
      { spec: { resourceAttributes: { namespace: 'NS', verb: 'get', resource: 'configmaps' } } },
      'bob',
    ),
    review(
      'authorization',
      'selfsubjectaccessreviews',
      { spec: { resourceAttributes: { namespace: 'NS', verb: 'get', resource: 'secrets' } } },
      'bob',
    ),
    review('authorization', 'selfsubjectaccessreviews', { spec: {} }),
    review('authorization', 'selfsubjectaccessreviews', {
      spec: { resourceAttributes: {}, nonResourceAttributes: {} },
    }),
    review('authorization', 'subjectaccessreviews', { spec: {} }),
    review('authorization', 'subjectaccessreviews', {
      spec: { user: 'bob', nonResourceAttributes: { path: '/x', verb: 'get' } },
    }),
    review('authorization', 'namespaces/NS/localsubjectaccessreviews', {
      spec: { user: 'x', resourceAttributes: { namespace: 'b' } },
    }),
    review('authorization', 'selfsubjectrulesreviews', { spec: {} }),
    review('authentication', 'tokenreviews', { spec: {} }),
    review('authentication', 'tokenreviews', { spec: { token: 'x' } }),
    review('authentication', 'selfsubjectreviews', {}, 'bob'),
    review('authorization', 'subjectaccessreviews', { spec: {} }, 'bob'),
    { method: 'POST', path: `${rbac}/roles`, body: role('more', 'secrets'), as: 'bob' },
    {
      method: 'POST',
      path: `${rbac}/roles`,
      body: {
        ...role('maker'),
        rules: [
          {
            apiGroups: ['rbac.authorization.k8s.io'],
            resources: ['roles', 'rolebindings'],
            verbs: ['create', 'update', 'get'],
          },
        ],
      },
    },
    { method: 'POST', path: `${rbac}/rolebindings`, body: binding('maker', 'maker', 'bob') },
    { method: 'POST', path: `${rbac}/roles`, body: role('more', 'secrets'), as: 'bob' },
    { method: 'POST', path: `${rbac}/roles`, body: role('own', 'configmaps'), as: 'bob' },
    { method: 'PUT', path: `${rbac}/roles/own`, body: role('own', 'configmaps', 'pods'), as: 'bob' },
    {
      method: 'POST',
      path: `${rbac}/rolebindings`,
      body: binding('up', 'cluster-admin', 'bob', 'ClusterRole'),
      as: 'bob',
    },
    { method: 'POST', path: `${rbac}/rolebindings`, body: binding('nothing', 'nothing', 'bob'), as: 'bob' },
    { method: 'PUT', path: `${rbac}/rolebindings/bob`, body: binding('bob', 'maker', 'bob') },
    { method: 'POST', path: `${rbac}/roles`, body: { ...role('bad'), rules: [{ verbs: [], resources: ['x'] }] } },
    {
      method: 'POST',
      path: `${rbac}/rolebindings`,
      body: { ...binding('bad', '', 'x'), subjects: [{ kind: 'Twist', name: '' }] },
    },
  ],
}
