import { sojournNamespace } from '../../apis/group.ts'
import type { KubeObject } from '../../kube/object.ts'
import { creatorPolicy } from '../../tenancy/creator-proof.ts'
import { creatorAnnotation, creatorGroupsAnnotation, maxNameBytes } from '../../tenancy/creator-record.ts'
import { recordedKinds } from '../creator-admission.ts'
import { recordCreatorPath } from '../webhook.ts'
import { boundPolicy, celAnnotations, celList, policyLabels, policyVersion, sojournAccounts } from './policy.ts'

/** What writes the record: a MutatingAdmissionPolicy (Kubernetes 1.36), the cleaner's webhook (1.30), or nothing: then no record counts. */
export const creatorAdmissions = ['MAP', 'Webhook', 'Off'] as const
export type CreatorAdmission = (typeof creatorAdmissions)[number]

export interface CreatorPolicyOptions {
  readonly admission: CreatorAdmission
  /** Users that restore backups: a record that they bring along is kept. */
  readonly restorers: readonly string[]
}

/** How a cluster records who wrote the spec of an object, and refuses forged records; as creator-admission.ts does on the embedded server. */
export function creatorPolicies({ admission, restorers }: CreatorPolicyOptions): readonly KubeObject[] {
  if (admission === 'Off') return []
  return [
    ...boundPolicy(creatorPolicy, validating(restorers)),
    ...(admission === 'MAP' ? recordingPolicy(restorers) : [recordingWebhook(restorers)]),
  ]
}

const metadata = { name: creatorPolicy, labels: policyLabels }

const notSojourn = {
  name: 'not-sojourn',
  expression: `!(request.userInfo.username in ${celList(sojournAccounts)})`,
}

/** The objects that record their creator. */
const resourceRules = [...Map.groupBy(recordedKinds, ({ group }) => group)].map(([group, kinds]) => ({
  apiGroups: [group],
  apiVersions: ['*'],
  operations: ['CREATE', 'UPDATE'],
  resources: kinds.map(({ plural }) => plural),
}))

const specChanged =
  "request.operation == 'CREATE' || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)"

const common = [
  { name: 'annotations', expression: celAnnotations('object') },
  { name: 'oldAnnotations', expression: celAnnotations('oldObject') },
  { name: 'specChanged', expression: specChanged },
  {
    name: 'groups',
    expression: String.raw`has(request.userInfo.groups) ? request.userInfo.groups.join('\n') : ''`,
  },
]

/** The value of an annotation in CEL, empty where it is absent. */
function valueIn(annotations: 'annotations' | 'oldAnnotations', name: string): string {
  return `(${has(annotations, name)} ? variables.${annotations}['${name}'] : '')`
}

function has(annotations: 'annotations' | 'oldAnnotations', name: string): string {
  return `'${name}' in variables.${annotations}`
}

/** Which writes get a record: of a new spec, and those of clients that replace the whole object without knowing the record. */
function toBeRecorded(restorers: readonly string[]) {
  const hasRecord = (object: 'object' | 'oldObject') =>
    `(has(${object}.metadata.annotations) && '${creatorAnnotation}' in ${object}.metadata.annotations)`
  return [
    notSojourn,
    {
      name: 'not-a-restored-record',
      expression: `!(request.userInfo.username in ${celList(restorers)} && ${hasRecord('object')})`,
    },
    {
      name: 'spec-changed-or-record-lost',
      expression: `${specChanged} || (!${hasRecord('object')} && ${hasRecord('oldObject')})`,
    },
  ]
}

function recordingPolicy(restorers: readonly string[]): readonly KubeObject[] {
  const value = (name: string, given: string) => `variables.specChanged ? ${given} : ${valueIn('oldAnnotations', name)}`
  return [
    {
      apiVersion: policyVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        matchConstraints: { resourceRules },
        matchConditions: toBeRecorded(restorers),
        variables: common,
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: `Object{metadata: Object.metadata{annotations: {'${creatorAnnotation}': ${value(creatorAnnotation, 'request.userInfo.username')}, '${creatorGroupsAnnotation}': ${value(creatorGroupsAnnotation, 'variables.groups')}}}}`,
            },
          },
        ],
      },
    },
    {
      apiVersion: policyVersion,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: creatorPolicy },
    },
  ]
}

/** Which requests a cluster has to send to the webhook. */
export function creatorWebhookScope(restorers: readonly string[]) {
  return {
    rules: resourceRules.map((rule) => ({ ...rule, scope: '*' })),
    matchConditions: toBeRecorded(restorers),
  }
}

/** While the webhook does not answer, the policy refuses what has no true record; everything else in the cluster is untouched. */
function recordingWebhook(restorers: readonly string[]): KubeObject {
  return {
    apiVersion: policyVersion,
    kind: 'MutatingWebhookConfiguration',
    metadata,
    webhooks: [
      {
        name: 'creator.sojourn.dev',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        matchPolicy: 'Equivalent',
        reinvocationPolicy: 'IfNeeded',
        timeoutSeconds: 5,
        clientConfig: {
          service: { name: 'sojourn-cleaner', namespace: sojournNamespace, path: recordCreatorPath, port: 443 },
        },
        ...creatorWebhookScope(restorers),
      },
    ],
  }
}

/** An expression affords two questions to the authorizer: a third exceeds its cost limit. */
function validating(restorers: readonly string[]) {
  const names = '([request.userInfo.username] + (has(request.userInfo.groups) ? request.userInfo.groups : []))'
  const inNamespace = (resource: string) => `authorizer.group('').resource('${resource}').namespace(request.namespace)`
  return {
    matchConstraints: { resourceRules },
    matchConditions: [
      notSojourn,
      { name: 'not-a-restorer', expression: `!(request.userInfo.username in ${celList(restorers)})` },
    ],
    variables: [
      ...common,
      { name: 'creator', expression: valueIn('annotations', creatorAnnotation) },
      { name: 'creatorGroups', expression: valueIn('annotations', creatorGroupsAnnotation) },
      {
        name: 'recordChanged',
        expression: `variables.creator != ${valueIn('oldAnnotations', creatorAnnotation)} || variables.creatorGroups != ${valueIn('oldAnnotations', creatorGroupsAnnotation)}`,
      },
      {
        name: 'account',
        expression: "has(object.spec) && has(object.spec.serviceAccountName) ? object.spec.serviceAccountName : ''",
      },
    ],
    validations: [
      {
        expression: String.raw`!variables.specChanged || (!(request.userInfo.username in ['', 'system:anonymous']) && ${names}.all(name, !name.contains('\n') && bytes(name).size() <= ${maxNameBytes}))`,
        reason: 'Forbidden',
        message: `an anonymous user, or one whose name or groups have a line break or more than ${maxNameBytes} bytes, cannot be the creator`,
      },
      {
        expression:
          '!variables.specChanged || (variables.creator == request.userInfo.username && variables.creatorGroups == variables.groups)',
        reason: 'Forbidden',
        messageExpression: String.raw`'metadata.annotations must record who writes the spec: ${creatorAnnotation}: "' + request.userInfo.username + '", ${creatorGroupsAnnotation}: "' + variables.groups.replace('\n', '\\n') + '". Admission adds them: where it does not, the webhook of sojourn-cleaner may be down'`,
      },
      {
        expression:
          "variables.specChanged || !variables.recordChanged || (authorizer.group('').resource('users').name(variables.creator).check('impersonate').allowed() && authorizer.group('').resource('groups').check('impersonate').allowed())",
        reason: 'Forbidden',
        message: `metadata.annotations[${creatorAnnotation}]: only admission changes who wrote the spec, and users who may impersonate that user and all groups`,
      },
      {
        expression: `!variables.specChanged || variables.account == '' || ${inNamespace('serviceaccounts')}.name(variables.account).check('impersonate').allowed() || ${inNamespace('pods')}.check('create').allowed()`,
        reason: 'Forbidden',
        messageExpression:
          "'spec.serviceAccountName: ' + request.userInfo.username + ' may neither impersonate ServiceAccount ' + request.namespace + '/' + variables.account + ' nor create Pods in ' + request.namespace",
      },
    ],
  }
}
