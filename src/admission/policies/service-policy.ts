import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import { parseApiVersion, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { annotation } from '../../systems/activator/model/annotations.ts'
import { readServiceSettings } from '../../systems/activator/model/service-settings.ts'
import type { Access } from '../../tenancy/confinement.ts'
import type { MayDo } from '../creator-admission.ts'
import { pluralOf } from './mark-policies.ts'
import { boundPolicy, celAnnotations, sojournAccounts, celList } from './policy.ts'

/** The prefixes of annotations by which a Service has the activator act. */
const prefixes = ['sojourn.dev/', 'proxless/']

/** The plural of a kind that the embedded server serves. */
export type PluralOf = (group: string, kind: string) => string | undefined

/** On the embedded server: who annotates a Service may do what the activator then does for it. */
export function serviceAdmission(
  mayDo: MayDo,
  { isSojourn, plural }: { readonly isSojourn: (user: Review['user']) => boolean; readonly plural: PluralOf },
): AdmissionHook {
  return {
    validate(review) {
      const { operation, type, subresource, object, old, user, name } = review
      if (type.group !== '' || type.kind !== 'Service' || subresource !== '' || operation === 'DELETE') return
      if (!object || !changesSettings(object, old) || isSojourn(user) || sojournAccounts.includes(user.name)) return
      for (const { access, because } of needsOf(object as StoredObject, { namespace: review.namespace, plural }))
        if (!mayDo(user, access)) throw refusal(name, `${because}: ${user.name} may not ${describe(access)}`)
    },
  }
}

interface Need {
  readonly access: Access
  /** The annotation that needs it. */
  readonly because: string
}

function needsOf(
  service: StoredObject,
  { namespace, plural }: { readonly namespace: string; readonly plural: PluralOf },
): readonly Need[] {
  const { workloads, waitingFiles, tlsSecret, takeover } = readServiceSettings(service)
  const core = { verb: 'get', group: '', namespace }
  return [
    ...workloads.map(({ apiVersion, kind, name }): Need => {
      const { group } = parseApiVersion(apiVersion)
      const resource = plural(group, kind) ?? `${kind.toLowerCase()}s`
      const because =
        annotation.deployment in (service.metadata.annotations ?? {}) ? annotation.deployment : annotation.target
      return { access: { verb: 'patch', group, resource, subresource: 'scale', namespace, name }, because }
    }),
    ...(waitingFiles === undefined
      ? []
      : [{ access: { ...core, resource: 'configmaps', name: waitingFiles }, because: annotation.waitingPage }]),
    ...(tlsSecret === undefined
      ? []
      : [{ access: { ...core, resource: 'secrets', name: tlsSecret }, because: annotation.tlsSecret }]),
    ...(takeover.enabled
      ? [
          {
            access: { verb: 'update', group: 'discovery.k8s.io', resource: 'endpointslices', namespace, name: '' },
            because: annotation.takeover,
          },
        ]
      : []),
  ]
}

function changesSettings(object: KubeObject, old: KubeObject | undefined): boolean {
  const [now, before] = [object, old].map((each) => each?.metadata.annotations ?? {})
  const keys = Object.keys({ ...before, ...now }).filter((key) => prefixes.some((prefix) => key.startsWith(prefix)))
  return keys.some((key) => now?.[key] !== before?.[key])
}

function describe({ verb, resource, subresource, name }: Access): string {
  return `${verb} ${resource}${subresource ? `/${subresource}` : ''}${name ? ` "${name}"` : ''}`
}

function refusal(name: string, why: string): StatusError {
  return new StatusError('Forbidden', `services "${name}" is forbidden: metadata.annotations: ${why}`, {
    details: { name, kind: 'services' },
  })
}

/** So many workloads the authorizer can be asked about: an expression affords two questions, a binding 28. */
const maxWorkloads = 12

/** In a cluster the same, by a policy. */
export function servicePolicies(): readonly KubeObject[] {
  const ours = (key: string) => `(${prefixes.map((prefix) => `${key}.startsWith('${prefix}')`).join(' || ')})`
  const [now, old] = [`(${celAnnotations('object')})`, `(${celAnnotations('oldObject')})`]
  return boundPolicy('sojourn-service-annotations', {
    matchConstraints: {
      resourceRules: [
        { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['services'] },
      ],
    },
    matchConditions: [
      {
        name: 'settings-change',
        expression: `${now}.exists(key, ${ours('key')} && (!(key in ${old}) || ${old}[key] != ${now}[key])) || ${old}.exists(key, ${ours('key')} && !(key in ${now}))`,
      },
      { name: 'not-sojourn', expression: `!(request.userInfo.username in ${celList(sojournAccounts)})` },
    ],
    variables: [
      { name: 'annotations', expression: celAnnotations('object') },
      { name: 'page', expression: `${valueOf(annotation.waitingPage)}.split('/')` },
      { name: 'secret', expression: valueOf(annotation.tlsSecret) },
      { name: 'takeover', expression: `${valueOf(annotation.takeover)}.lowerAscii() in ['true', 'on', 'yes']` },
      { name: 'main', expression: mainWorkloads },
      {
        name: 'workloads',
        expression: `(size(variables.main) == 0 ? [] : variables.main + ${valueOf(annotation.wakeWith)}.split(',')).map(each, each.trim().split('/')).filter(parts, (size(parts) == 2 && parts[0] in ['Deployment', 'StatefulSet', 'ReplicaSet']) || size(parts) == 4)`,
      },
    ],
    validations: [
      {
        expression: `size(variables.workloads) <= ${maxWorkloads}`,
        message: `metadata.annotations: a Service may name at most ${maxWorkloads} workloads`,
      },
      ...Array.from({ length: maxWorkloads }, (_, index) => mayScale(index)),
      {
        expression: `size(variables.page) != 2 || variables.page[0] != 'ConfigMap' || ${mayGet('configmaps', 'variables.page[1]')}`,
        reason: 'Forbidden',
        messageExpression: `'metadata.annotations: ${annotation.waitingPage}: ' + request.userInfo.username + ' may not get configmaps "' + variables.page[1] + '"'`,
      },
      {
        expression: `variables.secret == '' || ${mayGet('secrets', 'variables.secret')}`,
        reason: 'Forbidden',
        messageExpression: `'metadata.annotations: ${annotation.tlsSecret}: ' + request.userInfo.username + ' may not get secrets "' + variables.secret + '"'`,
      },
      {
        expression: `!variables.takeover || authorizer.group('discovery.k8s.io').resource('endpointslices').namespace(request.namespace).check('update').allowed()`,
        reason: 'Forbidden',
        messageExpression: `'metadata.annotations: ${annotation.takeover}: ' + request.userInfo.username + ' may not update endpointslices'`,
      },
    ],
  })
}

/** `proxless/deployment` as a target, or the targets. */
const mainWorkloads = `'${annotation.deployment}' in variables.annotations ? ['Deployment/' + variables.annotations['${annotation.deployment}'].trim()] : '${annotation.target}' in variables.annotations ? variables.annotations['${annotation.target}'].split(',') : []`

function valueOf(name: string): string {
  return `('${name}' in variables.annotations ? variables.annotations['${name}'].trim() : '')`
}

function mayGet(resource: string, name: string): string {
  return `authorizer.group('').resource('${resource}').namespace(request.namespace).name(${name}).check('get').allowed()`
}

/** Whether the workload at this index may be scaled: `KIND/NAME` or `GROUP/VERSION/KIND/NAME`. */
function mayScale(index: number) {
  const parts = `variables.workloads[${index}]`
  const kind = `${parts}[size(${parts}) - 2].lowerAscii()`
  const resource = pluralOf(kind)
  const group = `size(${parts}) == 4 ? ${parts}[0] : 'apps'`
  return {
    expression: `size(variables.workloads) <= ${index} || authorizer.group(${group}).resource(${resource}).subresource('scale').namespace(request.namespace).name(${parts}[size(${parts}) - 1]).check('patch').allowed()`,
    reason: 'Forbidden',
    messageExpression: `'metadata.annotations: ' + request.userInfo.username + ' may not patch the scale of ' + ${parts}.join('/')`,
  }
}
