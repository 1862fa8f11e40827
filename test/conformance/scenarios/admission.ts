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

const pods = '/api/v1/namespaces/NS/pods'
const pod = (name: string, container: Record<string, unknown> = {}, spec: Record<string, unknown> = {}): Step => ({
  method: 'POST',
  path: `${pods}?dryRun=All`,
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      containers: [{ name: 'main', image: 'x', ...container }],
      automountServiceAccountToken: false,
      ...spec,
    },
  },
})
const account: Step = {
  method: 'POST',
  path: '/api/v1/namespaces/NS/serviceaccounts',
  body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  until: 409,
}
const amounts = (requests: object, limits: object = {}) => ({ resources: { requests, limits } })
const only = (step: Step): Step => ({ ...step, unlike: true })

/** LimitRanges and ResourceQuotas. */
export const limits: Scenario = {
  name: 'limits',
  steps: [
    account,
    {
      method: 'POST',
      path: '/api/v1/namespaces/NS/limitranges',
      body: {
        apiVersion: 'v1',
        kind: 'LimitRange',
        metadata: { name: 'range' },
        spec: {
          limits: [
            {
              type: 'Container',
              min: { cpu: '50m' },
              max: { cpu: '1' },
              default: { cpu: '500m' },
              defaultRequest: { cpu: '100m' },
              maxLimitRequestRatio: { cpu: '6' },
            },
            { type: 'Pod', max: { memory: '1Gi' } },
          ],
        },
      },
    },
    only(pod('defaults', amounts({ memory: '1Mi' }, { memory: '2Mi' }))),
    pod('much', amounts({ memory: '1Mi' }, { memory: '2Mi', cpu: '2' })),
    pod('little', amounts({ memory: '1Mi', cpu: '10m' }, { memory: '2Mi' })),
    pod('ratio', amounts({ memory: '1Mi', cpu: '50m' }, { memory: '2Mi', cpu: '1' })),
    pod('together', amounts({ memory: '1Gi' }, { memory: '2Gi' })),
    pod('unsaid', amounts({ memory: '1Gi' })),
    { method: 'DELETE', path: '/api/v1/namespaces/NS/limitranges/range', unlike: true },
    {
      method: 'POST',
      path: '/api/v1/namespaces/NS/resourcequotas',
      body: {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'quota' },
        spec: { hard: { 'count/secrets': '0', 'requests.cpu': '1', pods: '2', 'limits.memory': '1Gi' } },
      },
    },
    {
      method: 'PATCH',
      path: '/api/v1/namespaces/NS/resourcequotas/quota/status',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: {
        status: {
          hard: { 'count/secrets': '0', 'requests.cpu': '1', pods: '2', 'limits.memory': '1Gi' },
          used: { 'count/secrets': '0', 'requests.cpu': '0', pods: '0', 'limits.memory': '0' },
        },
      },
      unlike: true,
    },
    {
      method: 'POST',
      path: '/api/v1/namespaces/NS/secrets?dryRun=All',
      body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' } },
      until: 403,
    },
    pod('unspecified'),
    pod('above', amounts({ cpu: '2' }, { cpu: '2', memory: '2Gi' })),
    only(pod('within', amounts({ cpu: '1' }, { cpu: '1', memory: '1Gi' }))),
  ],
}

const labelled = (labels: Record<string, string>): Step => ({
  method: 'PATCH',
  path: '/api/v1/namespaces/NS',
  headers: { 'content-type': 'application/merge-patch+json' },
  body: { metadata: { labels } },
  unlike: true,
})
const secure = {
  securityContext: {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
}

/** Pod Security Standards. */
export const podSecurity: Scenario = {
  name: 'pod-security',
  steps: [
    account,
    labelled({ 'pod-security.kubernetes.io/enforce': 'baseline' }),
    pod('privileged', { securityContext: { privileged: true } }),
    pod('network', {}, { hostNetwork: true, hostPID: true }),
    pod('path', {}, { volumes: [{ name: 'host', hostPath: { path: '/' } }] }),
    pod('capable', { securityContext: { capabilities: { add: ['NET_ADMIN', 'CHOWN', 'BPF'] } } }),
    pod('port', { ports: [{ containerPort: 80, hostPort: 80 }] }),
    pod('seccomp', { securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    pod('sysctl', {}, { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
    only(pod('plain')),
    labelled({ 'pod-security.kubernetes.io/enforce': 'restricted' }),
    pod('plain'),
    only(pod('secure', secure)),
    pod('root', { securityContext: { ...secure.securityContext, runAsUser: 0 } }),
    pod('volume', secure, { volumes: [{ name: 'host', hostPath: { path: '/' } }] }),
    labelled({ 'pod-security.kubernetes.io/enforce': 'privileged', 'pod-security.kubernetes.io/warn': 'restricted' }),
    only(pod('plain')),
    labelled({ 'pod-security.kubernetes.io/enforce': 'Restricted' }),
    labelled({
      'pod-security.kubernetes.io/enforce': 'baseline',
      'pod-security.kubernetes.io/enforce-version': '1.30',
    }),
  ],
}

const ingressClasses = '/apis/networking.k8s.io/v1/ingressclasses'
const statefulSet = (name: string, claim: string): Step => ({
  method: 'POST',
  path: '/apis/apps/v1/namespaces/NS/statefulsets',
  body: {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      serviceName: 's',
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: claim },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
})

/** What objects refer to, or get by default. */
export const references: Scenario = {
  name: 'references',
  steps: [
    account,
    pod('important', {}, { priority: 5 }),
    statefulSet('database', 'data'),
    statefulSet('mistaken', 'other'),
    {
      method: 'POST',
      path: ingressClasses,
      body: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IngressClass',
        metadata: { name: 'NS', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
        spec: { controller: 'example.com/c' },
      },
      unlike: true,
    },
    {
      method: 'POST',
      path: '/apis/networking.k8s.io/v1/namespaces/NS/ingresses',
      body: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: { name: 'i' },
        spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
      },
    },
    { method: 'DELETE', path: `${ingressClasses}/NS`, unlike: true },
  ],
}
