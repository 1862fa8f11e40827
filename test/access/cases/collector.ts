import type { KubeObject } from '../../../src/kube/object.ts'
import { configMap, namespace, type Case, type World } from './case.ts'

const home = 'access-collector'
const elsewhere = 'access-collector-there'
const asked = namespace(home, { labels: { 'sojourn.dev/depends-on': 'cascade' } })
const word = 'config.kubernetes.io/depends-on'
const annotated = configMap(home, 'annotated', { annotations: { [word]: `/namespaces/${home}/ConfigMap/needed` } })
const wrong = configMap(home, 'wrong', { annotations: { [word]: 'nonsense' } })

function bond(name: string, onDelete: string, dependency: { namespace?: string; name: string }): KubeObject {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { name, namespace: home },
    spec: {
      onDelete,
      dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: `${name}-dependent` },
      dependency: { apiVersion: 'v1', kind: 'ConfigMap', ...dependency },
    },
  }
}

const follows = bond('follows', 'Cascade', { name: 'leaves' })
const guards = bond('guards', 'Deny', { namespace: elsewhere, name: 'guarded' })
const keeps = bond('keeps', 'Hold', { name: 'child' })
const late = bond('late', 'Cascade', { name: 'last' })
const far = bond('far', 'Hold', { name: 'far' })

export const collectorCase: Case = {
  targets: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] }],
  stages: [
    {
      flags: { 'keep-records': '20s' },
      async given(world) {
        await world.create(asked, namespace(elsewhere, { annotations: { 'sojourn.dev/allow-bonds-from': home } }))
        await world.create(configMap(home, 'needed'), annotated, wrong, configMap(elsewhere, 'guarded'))
        const [dependent] = await world.create(
          ...['follows', 'guards', 'keeps', 'far'].map((name) => configMap(home, `${name}-dependent`)),
        )
        await world.abandon(dependent!, { system: 'collector' })
        const [owner] = await world
          .create(configMap(home, 'leaves'), configMap(home, 'owner'))
          .then((all) => all.slice(1))
        const { name, uid } = owner!.metadata
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
        await world.create(configMap(home, 'child', { ownerReferences }))
        await world.create(
          { ...far, spec: { ...(far.spec as object), dependency: { ...dependencyOf(far), cluster: `${home}.far` } } },
          follows,
          guards,
          keeps,
        )
      },
      async act(world) {
        await settled(world, [follows, guards, keeps])
        await world.remove(configMap(home, 'leaves'))
        await world.remove(configMap(home, 'owner'))
        for (const times of ['once', 'twice', 'again']) await world.change(wrong, { metadata: { labels: { times } } })
        await world.change(annotated, { metadata: { annotations: { [word]: null } } })
        await new Promise((resolve) => setTimeout(resolve, 2000))
        await world.remove(keeps)
      },
      until: [
        /bonds create/,
        /bonds delete/,
        /departures update/,
        /departures patch/,
        /departures delete/,
        /events patch/,
      ],
    },
    {
      flags: { 'max-departures-per-minute': '0' },
      async given(world) {
        await world.create(configMap(home, 'last'), configMap(home, 'late-dependent'), late)
      },
      async act(world) {
        await settled(world, [late])
        await world.remove(configMap(home, 'last'))
      },
    },
  ],
}

function dependencyOf({ spec }: KubeObject): object {
  return (spec as { readonly dependency: object }).dependency
}

/** Until the collector has found what the Bonds speak of. */
function settled(world: World, bonds: readonly KubeObject[]): Promise<void> {
  const uidOf = async (bond: KubeObject) =>
    ((await world.find(bond))?.status as { readonly dependencyUid?: string } | undefined)?.dependencyUid
  return world.until(async () => (await Promise.all(bonds.map(uidOf))).every((uid) => uid !== undefined))
}
