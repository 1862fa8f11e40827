import type { KubeObject } from '../../../src/kube/object.ts'
import { namespace, type Case } from './case.ts'

const home = 'access-promoter'

/** The kinds that pipelines are usually about, as far as it takes to look at them. */
const apps = [
  { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' },
  { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' },
  { apiVersion: 'infra.contrib.fluxcd.io/v1alpha2', kind: 'Terraform' },
  { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
] as const

function pipeline(name: string, spec: Readonly<Record<string, unknown>>): KubeObject {
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: { name, namespace: home },
    spec: {
      appRef: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'shop' },
      environments: [
        { name: 'dev', targets: [{ namespace: `${home}-dev` }] },
        { name: 'prod', targets: [{ namespace: `${home}-prod` }] },
      ],
      promotion: { strategy: { notification: {} } },
      settle: { quietPeriod: '0s' },
      ...spec,
    },
  }
}

function release(environment: string, revision: string): KubeObject {
  const at = '2026-01-01T00:00:00Z'
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: { name: 'shop', namespace: `${home}-${environment}` },
    status: {
      observedGeneration: 1,
      lastAppliedRevision: revision,
      lastAttemptedRevision: revision,
      history: [{ chartVersion: revision, status: 'deployed' }],
      conditions: [{ type: 'Ready', status: 'True', reason: 'Succeeded', message: '', lastTransitionTime: at }],
    },
  }
}

/** Nothing can be done with it: the promotion fails, and again whenever it changes. */
const useless: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git', namespace: home } }
const manual = pipeline('manual', { promotion: { approval: { required: 2 }, strategy: { notification: {} } } })
const byRequest = pipeline('by-request', {
  promotion: {
    strategy: {
      'pull-request': {
        type: 'gitea',
        url: 'https://127.0.0.1:1/team/shop',
        baseBranch: 'main',
        secretRef: { name: 'git' },
      },
    },
  },
})

const smokeTest: KubeObject = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'smoke-test', namespace: home },
  spec: {
    schedule: '0 0 1 1 *',
    suspend: true,
    jobTemplate: {
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'test', image: 'test' }] } } },
    },
  },
}
const checked = pipeline('checked', {
  environments: [
    { name: 'dev', targets: [{ namespace: `${home}-dev` }] },
    {
      name: 'prod',
      targets: [{ namespace: `${home}-prod` }],
      verification: { checks: [{ job: { fromCronJob: smokeTest.metadata.name } }] },
    },
  ],
})

export const promoterCase: Case = {
  stages: [
    {
      async given(world) {
        await world.create(namespace(home), namespace(`${home}-dev`), namespace(`${home}-prod`))
        await world.serve(...apps)
        await world.create(release('dev', '1.1.0'), release('prod', '1.0.0'), useless, smokeTest)
        for (const app of apps)
          await world.create(
            pipeline(app.kind.toLowerCase(), {
              appRef: { ...app, name: 'missing' },
              environments: [{ name: 'dev', targets: [{ namespace: `${home}-dev` }] }],
            }),
          )
        await world.create(
          pipeline('far', {
            environments: [
              { name: 'dev', targets: [{ namespace: home, clusterRef: { kind: 'GitopsCluster', name: 'far' } }] },
            ],
          }),
          byRequest,
          manual,
          checked,
        )
      },
      async act(world, running) {
        const waiting = () => world.find(manual).then((found) => production(found)?.waitingApproval?.promotionId)
        await world.until(async () => (await waiting()) !== undefined)
        const body = { promotionId: await waiting(), approver: 'me', decision: 'Approve', revision: '1.1.0' }
        const path = `/v1/namespaces/${home}/pipelines/manual/environments/prod/approvals`
        for (const _ of ['once', 'again']) await world.ask(running.url, 'POST', path, body)
        await world.until(async () => production(await world.find(byRequest))?.promotion?.phase === 'Failed')
        await world.change(useless, { metadata: { labels: { changed: 'true' } } })
      },
    },
  ],
}

interface Production {
  readonly waitingApproval?: { readonly promotionId?: string }
  readonly promotion?: { readonly phase?: string }
}

function production(object: KubeObject | undefined): Production | undefined {
  return (object?.status as { readonly environments?: { readonly prod?: Production } } | undefined)?.environments?.prod
}
