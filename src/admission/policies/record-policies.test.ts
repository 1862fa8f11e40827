import { expect, it } from 'vitest'
import { allKinds } from '../../apis/all-kinds.ts'
import { gitopsCluster } from '../../apis/gitops-cluster.ts'
import type { KubeObject } from '../../kube/object.ts'
import { shippedPolicies, sojournAccounts } from './policy.ts'

interface Crd {
  readonly spec: { readonly versions: readonly { readonly subresources?: { readonly status?: object } }[] }
}

const [policy] = shippedPolicies('record-policies')
const { matchConstraints, matchConditions } = (policy as KubeObject).spec as {
  readonly matchConstraints: {
    readonly resourceRules: readonly { readonly apiGroups: readonly string[]; readonly resources: readonly string[] }[]
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
  for (const account of sojournAccounts) expect(matchConditions[0]?.expression).toContain(`'${account}'`)
})
