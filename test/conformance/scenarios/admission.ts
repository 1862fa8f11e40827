import type { Scenario, Step } from '../target.ts'

const registration = '/apis/admissionregistration.k8s.io/v1'
const maps = '/api/v1/namespaces/NS/configmaps'
const here = { matchLabels: { 'kubernetes.io/metadata.name': 'NS' } }
const resourceRules = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
]

const policy = (name: string, spec: Record<string, unknown>, rest: Partial<Step> = {}): Step => ({
  method: 'POST',
  path: `${registration}/validatingadmissionpolicies`,
  body: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: `NS-${name}` },
    spec: {
      matchConstraints: { resourceRules, namespaceSelector: here, objectSelector: { matchLabels: { policy: name } } },
      ...spec,
    },
  },
  unlike: true,
  ...rest,
})
const binding = (name: string, actions: readonly string[], spec: Record<string, unknown> = {}): Step => ({
  method: 'POST',
  path: `${registration}/validatingadmissionpolicybindings`,
  body: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `NS-${name}` },
    spec: { policyName: `NS-${name}`, validationActions: actions, ...spec },
  },
  unlike: true,
})
const removed = (name: string): readonly Step[] =>
  ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'].map((plural) => ({
    method: 'DELETE',
    path: `${registration}/${plural}/NS-${name}`,
    unlike: true,
  }))
/** The label `policy` names the policy that an object is for: the other server forgets deleted ones a moment later. */
const map = (policy: string, name: string, data: Record<string, string> = {}, more: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { policy, ...more } },
  data,
})
const create = (body: unknown, rest: Partial<Step> = {}): Step => ({ method: 'POST', path: maps, body, ...rest })
const tried = (body: unknown, rest: Partial<Step> = {}): Step => create(body, { path: `${maps}?dryRun=All`, ...rest })

/** ValidatingAdmissionPolicies: who is denied, with which words. */
export const admissionPolicies: Scenario = {
  name: 'admission-policies',
  steps: [
    policy('warn', { validations: [{ expression: "!('bad' in object.data)", message: 'no bad data' }] }),
    binding('warn', ['Warn', 'Audit']),
    policy('open', { failurePolicy: 'Ignore', validations: [{ expression: 'object.data.nothing == 1' }] }),
    binding('open', ['Deny']),
    policy('basic', {
      matchConditions: [{ name: 'not-exempt', expression: "!('exempt' in object.metadata.?labels.orValue({}))" }],
      variables: [
        { name: 'size', expression: 'has(object.data) ? object.data.size() : 0' },
        { name: 'broken', expression: 'object.data.nothing' },
      ],
      validations: [
        { expression: 'variables.size < 2', messageExpression: "string(variables.size) + ' is too many'" },
        { expression: "object.metadata.name != 'reason'", reason: 'Forbidden', message: 'not that name' },
        { expression: "object.metadata.name != 'plain'" },
        { expression: "object.metadata.name != 'broken' || variables.broken == 'x'" },
        { expression: "object.metadata.name != 'bad' || object.spec.nothing == 1" },
        { expression: "request.userInfo.username != 'jo' || authorizer.requestResource.check('delete').allowed()" },
        { expression: "request.operation != 'CREATE' || oldObject == null" },
        { expression: "namespaceObject.metadata.name == request.namespace && request.kind.kind == 'ConfigMap'" },
      ],
    }),
    binding('basic', ['Deny']),
    tried(map('basic', 'many', { a: 'b', c: 'd' }), { until: 422 }),
    create(map('basic', 'good')),
    tried(map('basic', 'reason')),
    tried(map('basic', 'plain')),
    tried(map('basic', 'broken', { some: 'thing' })),
    tried(map('basic', 'bad')),
    tried(map('basic', 'many', { a: 'b', c: 'd' }, { exempt: 'yes' }), { unlike: true }),
    { method: 'DELETE', path: `${maps}/good?dryRun=All` },
    ...removed('basic'),
    tried(map('warn', 'warned', { bad: 'x', other: 'y' })),
    ...removed('warn'),
    create(map('none', 'limits', { most: '1' })),
    policy('params', {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [{ expression: 'object.data.size() <= int(params.data.most)' }],
    }),
    binding('params', ['Deny'], { paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' } }),
    tried(map('params', 'above', { a: 'b', c: 'd' }), { until: 422 }),
    tried(map('params', 'below', { a: 'b' }), { unlike: true }),
    ...removed('params'),
    policy('missing', {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [{ expression: 'object.data.size() <= int(params.data.most)' }],
    }),
    binding('missing', ['Deny'], { paramRef: { name: 'absent', parameterNotFoundAction: 'Deny' } }),
    tried(map('missing', 'any', { a: 'b' }), { until: 422 }),
    ...removed('missing'),
    tried(map('open', 'opened', { a: 'b' }), { unlike: true }),
    ...removed('open'),
    ...[
      'request.nothing',
      'object.data +',
      "'text'",
      'variables.absent == 1',
      'params.x',
      "authorizer.group('x').allowed()",
    ].map((expression) =>
      policy(
        'fault',
        { validations: [{ expression }] },
        { path: `${registration}/validatingadmissionpolicies?dryRun=All` },
      ),
    ),
  ],
}
