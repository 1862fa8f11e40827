import type { Scenario, Step } from '../target.ts'

const configMaps = '/api/v1/namespaces/NS/configmaps'
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const pod = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-1' }

const named = (name: string, ownerReferences: unknown, rest: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ownerReferences, ...rest },
})
const patch = (type: string, path: string, body: unknown, query = ''): Step => ({
  method: 'PATCH',
  path: `${path}${query}`,
  body,
  headers: { 'content-type': type === 'apply' ? 'application/apply-patch+yaml' : `application/${type}-patch+json` },
})

/** What is said of one owner, or of several. */
const references: readonly unknown[] = [
  [pod],
  [{ ...pod, apiVersion: undefined }],
  [{ ...pod, kind: undefined }],
  [{ ...pod, name: undefined }],
  [{ ...pod, uid: undefined }],
  [{ ...pod, apiVersion: '' }],
  [{ ...pod, kind: '' }],
  [{ ...pod, name: '' }],
  [{ ...pod, uid: '' }],
  [{}],
  [null],
  null,
  [],
  {},
  'p',
  ['p'],
  [[pod]],
  [{ ...pod, apiVersion: 'a/b/c' }],
  [{ ...pod, apiVersion: '/v1' }],
  [{ ...pod, apiVersion: 'apps/' }],
  [{ ...pod, apiVersion: '/' }],
  [{ ...pod, apiVersion: 'Not Valid' }],
  [{ ...pod, apiVersion: 1 }],
  [{ ...pod, name: 'Not a Name/at all' }],
  [{ ...pod, uid: 7 }],
  [{ ...pod, uid: ' ' }],
  [{ ...pod, controller: 'yes' }],
  [{ ...pod, controller: 1 }],
  [{ ...pod, blockOwnerDeletion: 'no' }],
  [{ ...pod, controller: null, blockOwnerDeletion: null }],
  [{ ...pod, apiVersion: 'x.dev/v1', kind: 'NobodyServesThis' }],
  [{ ...pod, kind: 'Event' }],
  [{ ...pod, apiVersion: 'events.k8s.io/v1', kind: 'Event' }],
  [{ ...pod, apiVersion: 'events.k8s.io/v1beta1', kind: 'Event' }],
  [{ ...pod, kind: 'Namespace', name: 'kube-system' }],
  [
    { ...pod, controller: true },
    { ...pod, uid: 'u-2', name: 'q', controller: true },
  ],
  [
    { ...pod, controller: true },
    { ...pod, uid: 'u-2', name: 'q', controller: true },
    { ...pod, uid: 'u-3', name: 'r', controller: true },
  ],
  [
    { ...pod, controller: true },
    { ...pod, uid: 'u-2', name: 'q', controller: false },
  ],
  [pod, pod],
  [pod, { ...pod, name: 'q' }],
  [
    { apiVersion: '', kind: '', name: '', uid: '', controller: true },
    { ...pod, controller: true, uid: '' },
  ],
  [{ ...pod, unknown: 'field' }],
]

/** Owners as they are accepted or refused. */
export const ownerReferences: Scenario = {
  name: 'owner-references',
  steps: [
    ...references.flatMap((said, index): Step[] => [
      { method: 'POST', path: configMaps, body: named(`c-${index}`, said) },
    ]),
    ...[references[1], references[4], references[35], references[41]].map((said, index): Step => ({
      method: 'POST',
      path: `${configMaps}?fieldValidation=Strict`,
      body: named(`s-${index}`, said),
    })),
    {
      method: 'POST',
      path: roles,
      body: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'NS-role', ownerReferences: [pod] },
      },
    },
    { method: 'DELETE', path: `${roles}/NS-role` },
    { method: 'POST', path: configMaps, body: named('changing', [pod]) },
    { method: 'PUT', path: `${configMaps}/changing`, body: named('changing', [{ ...pod, uid: '' }]) },
    { method: 'PUT', path: `${configMaps}/changing`, body: named('changing', references[35]) },
    { method: 'PUT', path: `${configMaps}/changing`, body: named('changing', [{ ...pod, kind: 'Event' }]) },
    patch('merge', `${configMaps}/changing`, { metadata: { ownerReferences: [{ ...pod, name: '' }] } }),
    patch('merge', `${configMaps}/changing`, { metadata: { ownerReferences: 'all' } }),
    patch('strategic-merge', `${configMaps}/changing`, { metadata: { ownerReferences: [{ ...pod, uid: 'u-2' }] } }),
    patch('strategic-merge', `${configMaps}/changing`, { metadata: { ownerReferences: [{ uid: 'u-3' }] } }),
    patch('strategic-merge', `${configMaps}/changing`, { metadata: { ownerReferences: [{ name: 'without-uid' }] } }),
    patch('strategic-merge', `${configMaps}/changing`, {
      metadata: { ownerReferences: [{ uid: 'u-1', blockOwnerDeletion: true }] },
    }),
    patch('strategic-merge', `${configMaps}/changing`, {
      metadata: { ownerReferences: [{ $patch: 'delete', uid: 'u-1' }] },
    }),
    patch('json', `${configMaps}/changing`, [
      { op: 'add', path: '/metadata/ownerReferences/-', value: { uid: 'u-9' } },
    ]),
    patch('json', `${configMaps}/changing`, [{ op: 'remove', path: '/metadata/ownerReferences' }]),
    patch('apply', `${configMaps}/applied`, named('applied', [pod]), '?fieldManager=one'),
    patch('apply', `${configMaps}/applied`, named('applied', [{ ...pod, uid: '' }]), '?fieldManager=one'),
    patch('apply', `${configMaps}/applied`, named('applied', [{ apiVersion: 'v1' }]), '?fieldManager=two'),
    patch('apply', `${configMaps}/applied`, named('applied', [{ ...pod, uid: 'u-2' }]), '?fieldManager=two'),
  ],
}

const things = '/apis/conf-owners.example.com/v1/namespaces/NS/things'
const thing = (name: string, owners: unknown) => ({
  apiVersion: 'conf-owners.example.com/v1',
  kind: 'Thing',
  metadata: { name, ownerReferences: owners },
})

/** The same for objects of a kind that was defined. */
export const customOwners: Scenario = {
  name: 'custom-owner-references',
  steps: [
    {
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      unlike: true,
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'things.conf-owners.example.com' },
        spec: {
          group: 'conf-owners.example.com',
          scope: 'Namespaced',
          names: { kind: 'Thing', plural: 'things', singular: 'thing' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      },
    },
    // A kind that is not served yet answers 404, too.
    { path: things, until: 200, unlike: true },
    { path: `${things}/nobody` },
    ...references.map((said, index): Step => ({
      method: 'POST',
      path: things,
      body: thing(`t-${index}`, said),
      ...(index === 0 ? { until: 201, unlike: true } : {}),
    })),
    patch('merge', `${things}/t-0`, { metadata: { ownerReferences: [{ ...pod, uid: '' }] } }),
    patch('strategic-merge', `${things}/t-0`, { metadata: { ownerReferences: [{ ...pod, uid: 'u-2' }] } }),
    {
      method: 'DELETE',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.conf-owners.example.com',
      unlike: true,
    },
  ],
}

const controllers = '/api/v1/namespaces/NS/replicationcontrollers'
const kinds = [
  [configMaps, 'ConfigMap', {}],
  [
    controllers,
    'ReplicationController',
    {
      spec: {
        selector: { app: 'a' },
        template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    },
  ],
] as const
const manners = [
  {},
  ...['Foreground', 'Background', 'Orphan'].map((propagationPolicy) => ({ propagationPolicy })),
  ...[true, false].map((orphanDependents) => ({ orphanDependents })),
]
const headers = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' }
const finalizerSets = [
  [],
  ['orphan'],
  ['foregroundDeletion'],
  ['x.dev/held', 'orphan'],
  ['orphan', 'foregroundDeletion'],
]

/** Every manner of deleting on everything the collector may find: what is left of it before the collector acts. */
export const deleteManners: Scenario = {
  name: 'delete-manners',
  steps: kinds.flatMap(([path, kind, draft]) =>
    finalizerSets.flatMap((finalizers, set) =>
      manners.flatMap((body, manner): Step[] => {
        const name = `m-${set}-${manner}`
        return [
          {
            method: 'POST',
            path,
            body: { apiVersion: 'v1', kind, ...draft, metadata: { name, finalizers } },
            unlike: true,
          },
          { method: 'DELETE', path: `${path}/${name}`, body, unlike: true },
          { path: `${path}/${name}`, headers },
          { method: 'DELETE', path: `${path}/${name}`, body: { propagationPolicy: 'Orphan' }, unlike: true },
          { path: `${path}/${name}`, headers },
        ]
      }),
    ),
  ),
}
