import { allKinds } from '../../apis/all-kinds.ts'
import { bond } from '../../apis/bond.ts'
import { cleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { departure } from '../../apis/departure.ts'
import { gitopsCluster } from '../../apis/gitops-cluster.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { savingsReport } from '../../apis/savings-report.ts'
import { usageLedger } from '../../apis/usage-ledger.ts'
import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import type { KubeObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { StatusError } from '../../kube/status-error.ts'
import { recordPolicy } from '../../tenancy/creator-proof.ts'
import type { MayDo } from '../creator-admission.ts'
import { boundPolicy, celList, sojournAccounts } from './policy.ts'

/** Kinds in which Sojourn keeps what it did and saw. Users may delete and label them. */
const records = [departure, cleanupCandidate, usageLedger, savingsReport]
/** Kinds whose status is Sojourn's: all but GitopsCluster, which has a controller of its own elsewhere. */
const withStatus = allKinds.filter(({ crd, kind }) => hasStatus(crd) && kind !== gitopsCluster.kind)

const refusal = 'only Sojourn writes its records and the status of its kinds'

/**
 * On the embedded server: only Sojourn writes its records and the status of its kinds, and users who may impersonate its accounts. A restore
 * runs as its user: it may mark a Departure as restored, and let a Bond forget what it was bound to.
 */
export function recordAdmission(mayDo: MayDo, isSojourn: (user: Review['user']) => boolean): AdmissionHook {
  return {
    validate(review) {
      const { type, name, user } = review
      if (!changesRecord(review) || isPartOfRestore(review)) return
      if (isSojourn(user) || sojournAccounts.includes(user.name) || mayDo(user, impersonation)) return
      throw new StatusError(
        'Forbidden',
        `${type.plural}.${type.group} "${name}" is forbidden: ${refusal}: user ${JSON.stringify(user.name)} may not`,
        { details: { name, kind: type.plural, group: type.group } },
      )
    },
  }
}

/** A user who may impersonate Sojourn can write all this anyway. */
const account = 'sojourn-janitor'
const impersonation = {
  verb: 'impersonate',
  group: '',
  resource: 'serviceaccounts',
  namespace: sojournNamespace,
  name: account,
}

function changesRecord({ operation, type, subresource, object, old }: Review): boolean {
  if (operation === 'DELETE' || !object) return false
  const isOne = (kinds: typeof allKinds) => kinds.some(({ group, kind }) => group === type.group && kind === type.kind)
  if (subresource === 'status') return isOne(withStatus)
  return subresource === '' && isOne(records) && !(old && deepEqual(recordIn(old), recordIn(object)))
}

/** What is Sojourn's: all of the spec, but for the postponement that people write into a candidate. */
function recordIn({ kind, spec }: KubeObject): unknown {
  const { policy, location, resource } = spec as Readonly<Record<string, unknown>>
  return kind === cleanupCandidate.kind ? { policy, location, resource } : spec
}

function isPartOfRestore({ type, subresource, object }: Review): boolean {
  const status = (object?.status ?? {}) as { readonly phase?: string; readonly dependencyUid?: string }
  if (subresource !== 'status') return false
  if (type.kind === departure.kind) return status.phase === 'Restored'
  return type.kind === bond.kind && status.phase === 'Pending' && status.dependencyUid === undefined
}

/** In a cluster the same, by a policy. */
export function recordPolicies(): readonly KubeObject[] {
  return boundPolicy(recordPolicy, {
    matchConstraints: {
      resourceRules: [
        ...rulesFor(records, ''),
        // A status is only ever updated: it is created with nothing in it.
        ...rulesFor(withStatus, '/status'),
      ],
    },
    matchConditions: [
      {
        name: 'not-sojourn',
        expression: `!(request.userInfo.username in ${celList(sojournAccounts)}) && !(has(request.userInfo.groups) && 'system:masters' in request.userInfo.groups)`,
      },
      {
        name: 'record-changes',
        expression: recordChanges,
      },
      { name: 'not-part-of-a-restore', expression: `!(${restore})` },
    ],
    validations: [
      {
        expression: `authorizer.group('').resource('serviceaccounts').namespace('${sojournNamespace}').name('${account}').check('impersonate').allowed()`,
        reason: 'Forbidden',
        message: refusal,
      },
    ],
  })
}

const candidateChanges = ['policy', 'location', 'resource']
  .map((field) => `object.spec.${field} != oldObject.spec.${field}`)
  .join(' || ')
const recordChanges = `(has(request.subResource) && request.subResource == 'status') || request.operation == 'CREATE' || (request.resource.resource == '${cleanupCandidate.plural}' ? ${candidateChanges} : object.spec != oldObject.spec)`

const restore = `has(request.subResource) && request.subResource == 'status' && has(object.status) && has(object.status.phase) && ((request.resource.resource == '${departure.plural}' && object.status.phase == 'Restored') || (request.resource.resource == '${bond.plural}' && object.status.phase == 'Pending' && !has(object.status.dependencyUid)))`

function rulesFor(kinds: typeof allKinds, subresource: string) {
  return [...Map.groupBy(kinds, ({ group }) => group)].map(([group, members]) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    operations: subresource === '' ? ['CREATE', 'UPDATE'] : ['UPDATE'],
    resources: members.map(({ plural }) => `${plural}${subresource}`),
  }))
}

function hasStatus({ spec }: KubeObject): boolean {
  const { versions } = spec as {
    readonly versions: readonly { readonly subresources?: { readonly status?: object } }[]
  }
  return versions.some(({ subresources }) => subresources?.status !== undefined)
}
