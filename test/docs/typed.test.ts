import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { toolDefinitions } from '../environments/tool-definitions.ts'
import { manifestsOf, pagesWithManifests, Reader, shellBlocks } from './reader.ts'

const missing = await whyUnavailable('kubectl', 'helm')
if (missing) console.warn(`SKIPPED: what the documentation says was NOT typed: ${missing}`)

/** The definitions of the tools whose manifests guides show. */
const tools = missing ? '' : await toolDefinitions()
if (typeof tools === 'string') console.warn(`*** SKIPPED: manifests of deployment tools in guides: ${tools || missing}`)

/** What the first terminal does, or what this very test is part of. */
const isStart = (block: string) => /npm ci/.test(block)

describe.skipIf(missing).each(['README.md', 'docs/guide/first-hour.md'])('what %s says', (page) => {
  let reader: Reader
  beforeAll(async () => {
    reader = await Reader.begin()
  })
  afterAll(() => reader?.[Symbol.asyncDispose]())

  it.each(shellBlocks(page).filter(([, block]) => !isStart(block)))('“%s” can be typed and works', async (_, block) => {
    const { code, output } = await reader.types(block)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  })
})

const awaitsApproval = (environment: string) =>
  `kubectl -n team wait pipeline/shop --timeout=120s --for=jsonpath={.status.environments.${environment}.promotion.phase}=AwaitingApproval`

/** The first environment has had 1.4.2 and now 1.4.3, which waits for the second one. */
const promotion = () => `
${applied('promoter.yaml')}
kubectl -n team wait pipeline/shop --timeout=120s --for='jsonpath={.status.revisions[0].revision}=1.4.2'
kubectl -n team patch configmap dev --type=merge -p '{"data":{"revision":"1.4.3"}}'
${awaitsApproval('prod')}
`

const applied = (granted: string) => `kubectl apply -f "${join(import.meta.dirname, 'granted', granted)}"`

/** Pages that take a little world for granted, and how it comes to be. */
const guides = [
  { page: 'docs/guide/activator.md', world: applied('activator.yaml') },
  {
    page: 'docs/guide/environments.md',
    world: `${applied('environments.yaml')}\nkubectl -n shop-pr-42 wait --for=create --timeout=30s env/shop-pr-42`,
  },
  {
    page: 'docs/guide/environment-tools.md',
    world: `${applied('environment-tools.yaml')}\ncp -r "${join(import.meta.dirname, 'granted/chart')}" .`,
  },
  { page: 'docs/guide/promoter.md', world: promotion() },
  { page: 'docs/guide/forecast.md', world: `${applied('forecast.yaml')}\n${awaitsApproval('production')}` },
  // Manifests as those who come from there have them: that they are taken is half of what these pages promise.
  { page: 'docs/migrate/cleaner-controller.md', world: applied('cleaner-controller.yaml') },
  { page: 'docs/migrate/krake.md', world: applied('krake.yaml') },
  { page: 'docs/migrate/swabbie.md', world: `cp "${join(import.meta.dirname, 'granted/swabbie.yml')}" .` },
  { page: 'docs/migrate/pipeline-controller.md', world: applied('pipeline-controller.yaml') },
  { page: 'docs/migrate/proxless.md', world: applied('proxless.yaml') },
] as const

describe.skipIf(missing).each(guides)('what $page says of what there is', ({ page, world }) => {
  let reader: Reader
  beforeAll(async () => {
    reader = await Reader.begin()
    reader.has('policy.yaml', policy)
    const { code, output } = await reader.types(world)
    expect([code, output]).toEqual([0, output])
  }, 240_000)
  afterAll(() => reader?.[Symbol.asyncDispose]())

  // What goes on until it is stopped is started at free ports; a second `sojourn up` would need terminals of its own, and names of Services a cluster.
  const blocks = shellBlocks(page).filter(([, block]) => !/^sojourn up|^curl .*\.svc\b/m.test(block))
  it.each(blocks)('“%s” can be typed and works', async (_, block) => {
    const { code, output } = block.startsWith('sojourn run')
      ? await reader.starts(`${block.trim()} --port 0 --proxy-port 0`, 'sojourn running')
      : await reader.types(withRefusals(block))
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  })
})

/** What has no occasion in these worlds, and what it says then. */
const refusals = { retry: 'no promotion has failed', rollback: 'no earlier revision is known' }

function withRefusals(block: string): string {
  return Object.entries(refusals).reduce(
    (lines, [command, words]) =>
      lines.replace(new RegExp(`^(sojourn ${command} [^#\n]*).*$`, 'm'), `$1 2>&1 | grep "${words}"`),
    block,
  )
}

/** Enough of kube-green to see that its manifests can be read. */
const kubeGreen = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: sleepinfos.kube-green.com }
spec:
  group: kube-green.com
  scope: Namespaced
  names: { kind: SleepInfo, plural: sleepinfos }
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`

describe.skipIf(missing)('what the documentation shows', () => {
  let reader: Reader
  beforeAll(async () => {
    reader = await Reader.begin()
    reader.has('kube-green.yaml', kubeGreen)
    for (const file of ['kube-green.yaml', ...(typeof tools === 'string' ? [] : tools)]) {
      const { code, output } = await reader.types(`kubectl apply --server-side -f "${file}"`)
      expect([code, output]).toEqual([0, output])
    }
    await reader.types('kubectl wait --for=condition=Established crd --all')
  }, 240_000)
  afterAll(() => reader?.[Symbol.asyncDispose]())

  it.each(pagesWithManifests())('in %s is accepted by the server as it stands', async (page) => {
    for (const manifest of manifestsOf(page)) {
      if (typeof tools === 'string' && /^apiVersion: .*(?:argoproj|fluxcd)/m.test(manifest)) continue
      const { metadata } = parse(manifest) as { readonly metadata: { readonly namespace?: string } }
      if (metadata.namespace) await reader.types(`kubectl create namespace ${metadata.namespace} || true`)
      reader.has('shown.yaml', manifest)
      const { code, output } = await reader.types('kubectl apply --dry-run=server -f shown.yaml')
      expect([code, code === 0 ? '' : `${output}\n${manifest}`]).toEqual([0, ''])
    }
  })
})

describe.skipIf(missing)('a word that comes too late', () => {
  it('is told what became of the promotion, and what says more', async () => {
    await using reader = await Reader.begin()
    await reader.types(`${promotion()}\nsojourn approve shop prod 1.4.3 -n team\n${rollsOut}`)
    const { code, output } = await reader.types('sojourn approve shop prod 1.4.3 -n team --reject')
    expect([code, output]).toEqual([
      1,
      'sojourn approve: 1.4.3 is not waiting for approval in prod: it is approved or rejected already, or waits for something else\nRun "sojourn explain pipeline/shop -n team" to see what it waits for.\n',
    ])
  })
})

const rollsOut =
  'kubectl -n team wait pipeline/shop --timeout=120s --for=jsonpath={.status.environments.prod.promotion.phase}=RollingOut'

const policy = `apiVersion: sojourn.dev/v1alpha1
kind: CleanupPolicy
metadata: { name: unused }
spec:
  targets: [{ kubernetes: { resources: [{ kind: ConfigMap }], namespaces: { include: [team] } } }]
  rules: [{ rules: [{ name: Unused }] }]
`
