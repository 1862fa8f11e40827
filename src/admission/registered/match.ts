import { scaleOf } from '../../apiserver/objects/read/scale.ts'
import type { Review } from '../../apiserver/objects/contract/admission.ts'
import type { ServedKind } from '../../apiserver/kinds/contract/served-kind.ts'
import { Document } from '../../apiserver/store/document.ts'
import type { View } from '../../apiserver/store/store.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { matches, requirementsOf, type LabelSelector } from '../../kube/selector.ts'

/** A rule of a policy or webhook. */
interface Rule extends Partial<Record<'apiGroups' | 'apiVersions' | 'resources' | 'operations', readonly string[]>> {
  readonly resourceNames?: readonly string[]
  readonly scope?: string
}

/** Which requests a policy, a binding or a webhook is for. */
export interface Match {
  readonly rules?: readonly Rule[] | undefined
  readonly resourceRules?: readonly Rule[] | undefined
  readonly excludeResourceRules?: readonly Rule[] | undefined
  readonly namespaceSelector?: LabelSelector | undefined
  readonly objectSelector?: LabelSelector | undefined
  readonly matchPolicy?: string | undefined
}

/** Configuration of admission itself is exempt, so that no policy or webhook can prevent its own repair. */
export function isExempt({ type }: Review): boolean {
  return type.group === 'admissionregistration.k8s.io'
}

/**
 * The version of the request's kind by which the rules select it: its own, or with `matchPolicy: Equivalent` another
 * served one. Undefined when they do not. A binding without rules selects what its policy does.
 */
export function matchedKind(
  match: Match,
  review: Review,
  versions: () => readonly ServedKind[],
): ServedKind | undefined {
  const { type } = review
  const rules = match.rules ?? match.resourceRules
  const candidates = match.matchPolicy === 'Exact' ? [type] : [type, ...versions()]
  const found = rules?.length ? candidates.find((each) => rules.some((rule) => selects(rule, each, review))) : type
  if (!found || !selectsLabels(match, review)) return undefined
  const isExcluded = match.excludeResourceRules?.some((rule) => candidates.some((each) => selects(rule, each, review)))
  return isExcluded ? undefined : found
}

const has = (list: readonly string[] | undefined, value: string) => list?.includes(value) || list?.includes('*')

/** Whether a rule is for a kind, whatever is done to it. */
function covers({ apiGroups, apiVersions, resources = [], scope = '*' }: Rule, type: ServedKind): boolean {
  if (!has(apiGroups, type.group) || !has(apiVersions, type.version)) return false
  if (scope !== '*' && (scope === 'Namespaced') !== type.namespaced) return false
  return resources.some((resource) => ['*', type.plural].includes(resource.split('/')[0] ?? ''))
}

/** Whether any rule is for any of these versions of a kind. */
export function concerns({ rules, resourceRules }: Match, versions: readonly ServedKind[]): boolean {
  return (rules ?? resourceRules ?? []).some((rule) => versions.some((type) => covers(rule, type)))
}

function selects(rule: Rule, type: ServedKind, { operation, subresource, name }: Review): boolean {
  const { resources = [], resourceNames = [] } = rule
  if (!has(rule.operations, operation) || !covers(rule, type)) return false
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false
  return resources.some((resource) => {
    const [plural = '', part = ''] = resource.split('/')
    return (plural === '*' || plural === type.plural) && (part === subresource || part === '*')
  })
}

function selectsLabels({ namespaceSelector = {}, objectSelector = {} }: Match, review: Review): boolean {
  const { object, old } = review
  const byObject = requirementsOf(objectSelector)
  if (byObject.length > 0 && ![object, old].some((each) => each && matches(byObject, each.metadata.labels)))
    return false
  const byNamespace = requirementsOf(namespaceSelector)
  if (byNamespace.length === 0) return true
  const namespace = review.type.resource === 'namespaces' ? (object ?? old) : namespaceOf(review)
  return !namespace || matches(byNamespace, namespace.metadata.labels)
}

/** The Namespace that a request is for; undefined for cluster-scoped objects. */
export function namespaceOf({ type, namespace, view }: Pick<Review, 'type' | 'namespace'> & { view: View }) {
  if (!type.namespaced) return undefined
  return view.get({ resource: 'namespaces', namespace: '', name: namespace })?.document.value
}

/** The request as policies and webhooks see it: in the version that they asked for. */
export function requestAs(review: Review, type: ServedKind) {
  const { operation, namespace, name, subresource, user, isDryRun, object, old } = review
  const isGenerated = operation === 'CREATE' && object?.metadata.generateName !== undefined
  const [asked, own] = [type, review.type].map((each) => identityOf(each, subresource))
  const part = subresource ? { subResource: subresource, requestSubResource: subresource } : {}
  return {
    object: object ? inVersion(review, object, type) : null,
    oldObject: old ? inVersion(review, old, type) : null,
    request: {
      ...asked,
      requestKind: own?.kind,
      requestResource: own?.resource,
      ...part,
      ...(name && !isGenerated ? { name } : {}),
      ...(type.namespaced ? { namespace } : type.resource === 'namespaces' ? { namespace: name } : {}),
      operation,
      userInfo: {
        username: user.name,
        ...(user.uid ? { uid: user.uid } : {}),
        ...(user.groups.length > 0 ? { groups: user.groups } : {}),
        ...(user.extra ? { extra: user.extra } : {}),
      },
      dryRun: isDryRun,
      options: { apiVersion: 'meta.k8s.io/v1', kind: `${operation[0]}${operation.slice(1).toLowerCase()}Options` },
    },
  }
}

function identityOf(type: ServedKind, subresource: string) {
  const { group, version, kind } = type.subresources.find(({ name }) => name === subresource) ?? type
  return {
    kind: { group, version, kind },
    resource: { group: type.group, version: type.version, resource: type.plural },
  }
}

function inVersion({ type, subresource }: Review, object: KubeObject, wanted: ServedKind): KubeObject {
  if (subresource === 'scale') return scaleOf(type, object as StoredObject)
  if (type === wanted) return object
  const stored = type.toStored(object) as StoredObject
  return wanted.serve(new Document(0, JSON.stringify(stored), stored)).value
}
