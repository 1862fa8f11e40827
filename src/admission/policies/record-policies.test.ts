import { expect, it } from 'vitest'
import { allKinds } from '../../apis/all-kinds.ts'
import { gitopsCluster } from '../../apis/gitops-cluster.ts'
import type { KubeObject } from '../../kube/object.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { recordedKinds } from '../creator-admission.ts'
import { creatorPolicies } from './creator-policy.ts'
import { shippedPolicies } from './policy.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
}

interface Crd {
  readonly spec: { readonly versions: readonly { readonly subresources?: { readonly status?: object } }[] }
}

const [policy] = shippedPolicies('record-policies')
const { matchConstraints, matchConditions } = (policy as KubeObject).spec as {
  readonly matchConstraints: {
    readonly resourceRules: readonly Rule[]
  }
  readonly matchConditions: readonly { readonly expression: string }[]
}

it('protects the status of every kind but GitopsCluster, which has a controller of its own elsewhere', () => {
  const covered = matchConstraints.resourceRules.flatMap(({ apiGroups: [group], resources }) =>
    resources.filter((each) => each.endsWith('/status')).map((each) => `${each}.${group}`),
  )
  const withStatus = allKinds.filter(
    ({ crd, kind }) =>
      kind !== gitopsCluster.kind &&
      (crd as unknown as Crd).spec.versions.some(({ subresources }) => subresources?.status !== undefined),
  )
  expect(covered.toSorted()).toEqual(withStatus.map(({ plural, group }) => `${plural}/status.${group}`).toSorted())
})

it('exempts every account of Sojourn', () => {
  const roles = ['cleaner', 'collector', 'janitor', 'promoter', 'activator', 'environments']
  for (const name of ['sojourn', ...roles.map((role) => `sojourn-${role}`)])
    expect(matchConditions[0]?.expression).toContain(`'system:serviceaccount:${sojournNamespace}:${name}'`)
})

it.each(['MAP', 'Webhook'] as const)('records the creators of all recorded kinds, by %s', (admission) => {
  const policies = creatorPolicies({ admission, restorers: [String.raw`it's \ "me"`] })
  const texts = policies.map((each) => JSON.stringify(each))
  expect(texts.some((text) => text.includes('@restorers@'))).toBe(false)
  expect(JSON.stringify(policies)).toContain(JSON.stringify(String.raw`['it\'s \\ "me"']`).slice(1, -1))
  const rules = policies.map(({ spec, webhooks }) => {
    const own = (spec as { matchConstraints?: { resourceRules: readonly Rule[] } } | undefined)?.matchConstraints
    return own?.resourceRules ?? (webhooks as readonly { rules: readonly Rule[] }[] | undefined)?.[0]?.rules
  })
  const expected = recordedKinds.map(({ plural, group }) => `${plural}.${group}`).toSorted()
  for (const each of rules.filter((found) => found !== undefined))
    expect(
      each.flatMap(({ apiGroups: [group], resources }) => resources.map((plural) => `${plural}.${group}`)).toSorted(),
    ).toEqual(expected)
})
