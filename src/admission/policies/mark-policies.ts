import { bond, inUseAnnotation, inUseLabel, inUsePolicy, dependsOnAnnotation } from '../../apis/bond.ts'
import { expirationMark, expirationMarks, keepMark } from '../../departures/door/protection.ts'
import type { KubeObject } from '../../kube/object.ts'
import { accountsOf, boundPolicy, celList } from './policy.ts'

/** Admission policies that protect marked objects, whether Sojourn runs or not. Needs Kubernetes 1.30. */
export function keepPolicies(): readonly KubeObject[] {
  return boundPolicy('sojourn-keep', keep)
}

/** Admission policies that enforce Bonds, whether Sojourn runs or not. Needs Kubernetes 1.30. */
export function bondPolicies(): readonly KubeObject[] {
  return [
    ...boundPolicy(inUsePolicy, inUse),
    ...boundPolicy('sojourn-bond-authority', authority),
    ...boundPolicy('sojourn-depends-on', dependsOn),
  ]
}

/**
 * Keeps marked objects from Kubernetes' own garbage collector, which does not know the marks: they outlive their owners, as on the
 * embedded server. The deletion of a namespace still deletes them; the Door checks the contents before it deletes a namespace.
 */
const keep = {
  matchConstraints: {
    resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['DELETE'], resources: ['*'] }],
  },
  matchConditions: [
    {
      name: 'by-the-garbage-collector',
      expression: `request.userInfo.username in ['system:serviceaccount:kube-system:generic-garbage-collector', 'system:kube-controller-manager']`,
    },
    {
      name: 'namespace-stays',
      expression: 'namespaceObject == null || !has(namespaceObject.metadata.deletionTimestamp)',
    },
  ],
  variables: [
    { name: 'annotations', expression: marksOf('annotations') },
    { name: 'labels', expression: marksOf('labels') },
  ],
  validations: ['annotations', 'labels'].flatMap((place) => [
    {
      expression: `!('${keepMark}' in variables.${place}) || variables.${place}['${keepMark}'] == 'false'`,
      reason: 'Forbidden',
      message: `it is marked ${keepMark}: it is kept when its owner is deleted`,
    },
    {
      expression: `!variables.${place}.exists(key, key in [${expirationMarks.map((mark) => `'${mark}'`).join(', ')}] && variables.${place}[key].lowerAscii() == 'never')`,
      reason: 'Forbidden',
      message: `it is marked ${expirationMark}: never: it is kept when its owner is deleted`,
    },
  ]),
}

function marksOf(place: 'annotations' | 'labels'): string {
  return `has(oldObject.metadata.${place}) ? oldObject.metadata.${place} : {}`
}

/** Refuses the deletion of an object that a Bond with Deny guards, and of a namespace that contains a denied or held object. */
const inUse = {
  matchConstraints: {
    objectSelector: { matchExpressions: [{ key: inUseLabel, operator: 'Exists' }] },
    resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['DELETE'], resources: ['*'] }],
  },
  validations: [
    {
      expression: 'has(oldObject.metadata.deletionTimestamp)',
      reason: 'Forbidden',
      message: 'it is in use, and a Bond refuses its deletion',
      // Bonds of this cluster are in the annotation itself; those of other clusters in annotations with the cluster's id as suffix.
      messageExpression: `'in use by Bond ' + (has(oldObject.metadata.annotations) && oldObject.metadata.annotations.exists(key, key.startsWith('${inUseAnnotation}')) ? oldObject.metadata.annotations.filter(key, key.startsWith('${inUseAnnotation}')).map(key, oldObject.metadata.annotations[key]).join(', ') : 'unknown')`,
    },
  ],
}

/** A Bond never grants its author extra rights. The same rule as src/admission/bond-authority.ts has for the embedded server. */
const authority = {
  matchConstraints: {
    resourceRules: [
      { apiGroups: [bond.group], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [bond.plural] },
    ],
  },
  matchConditions: [
    { name: 'spec-changed', expression: "request.operation == 'CREATE' || object.spec != oldObject.spec" },
    { name: 'not-the-collector', expression: `!(request.userInfo.username in ${celList(accountsOf('collector'))})` },
  ],
  variables: [
    ...['dependent', 'dependency'].flatMap((end) => [
      { name: `${end}Group`, expression: groupOf(`object.spec.${end}.apiVersion`) },
      { name: `${end}Kind`, expression: `object.spec.${end}.kind.lowerAscii()` },
      { name: `${end}Resource`, expression: pluralOf(`variables.${end}Kind`) },
    ]),
    { name: 'action', expression: "has(object.spec.onDelete) ? object.spec.onDelete : 'Cascade'" },
    {
      name: 'isElsewhere',
      expression:
        "(has(object.spec.dependency.cluster) && object.spec.dependency.cluster != '') || (has(object.spec.dependency.namespace) && object.spec.dependency.namespace != object.metadata.namespace)",
    },
  ],
  validations: [
    {
      expression: `variables.action != 'Cascade' || ${allowed('dependent', "has(object.spec.dependent.name) ? object.spec.dependent.name : ''", 'delete')}`,
      reason: 'Forbidden',
      messageExpression:
        "'the Bond would delete its dependent on your behalf, but you may not delete ' + variables.dependentResource",
    },
    {
      expression: `variables.action == 'Orphan' || variables.isElsewhere || ${allowed('dependency', 'object.spec.dependency.name', 'update', 'finalizers')}`,
      reason: 'Forbidden',
      messageExpression:
        "'the Bond would delay the deletion of its dependency on your behalf, but you may not update ' + variables.dependencyResource + '/finalizers'",
    },
  ],
}

/** The annotation becomes a Bond that deletes the annotated object: its author must have that right, as for a Bond. */
const dependsOn = {
  matchConstraints: {
    resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['*/*'] }],
  },
  matchConditions: [
    {
      name: 'annotation-changed',
      expression: `has(object.metadata.annotations) && '${dependsOnAnnotation}' in object.metadata.annotations && (!has(oldObject.metadata.annotations) || !('${dependsOnAnnotation}' in oldObject.metadata.annotations) || oldObject.metadata.annotations['${dependsOnAnnotation}'] != object.metadata.annotations['${dependsOnAnnotation}'])`,
    },
  ],
  validations: [
    {
      expression:
        "authorizer.group(request.resource.group).resource(request.resource.resource).namespace(request.namespace).name(request.name).check('delete').allowed()",
      reason: 'Forbidden',
      messageExpression: `'the annotation ${dependsOnAnnotation} lets Sojourn delete this object, and you cannot delete ' + request.resource.resource`,
    },
  ],
}

function groupOf(text: string): string {
  return `${text}.contains('/') ? ${text}.split('/')[0] : ''`
}

/** The plural that Kubernetes guesses from a kind. A wrong guess fails safe: the author has no right to a resource of that name. */
export function pluralOf(kind: string): string {
  return `${kind} == 'endpoints' ? ${kind} : ${kind}.matches('(s|x|ch|sh)$') ? ${kind} + 'es' : ${kind}.matches('[^aeiou]y$') ? ${kind}.substring(0, ${kind}.size() - 1) + 'ies' : ${kind} + 's'`
}

function allowed(end: string, name: string, verb: string, subresource?: string): string {
  const resource = `authorizer.group(variables.${end}Group).resource(variables.${end}Resource)`
  const part = subresource ? `.subresource('${subresource}')` : ''
  return `${resource}${part}.namespace(object.metadata.namespace).name(${name}).check('${verb}').allowed()`
}
