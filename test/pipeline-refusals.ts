import type { KubeObject } from '../src/kube/object.ts'

/** A valid Pipeline, changed by the given spec. */
export function pipelineManifest(spec: Record<string, unknown> = {}, name = 'app'): KubeObject {
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: { name, namespace: 'team' },
    spec: {
      appRef: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'app' },
      environments: [environment('dev'), environment('prod')],
      promotion: { strategy: { 'pull-request': repository({ type: 'github' }) } },
      ...spec,
    },
  }
}

const environment = (name: string, over: Record<string, unknown> = {}) => ({
  name,
  targets: [{ namespace: name }],
  ...over,
})

const repository = (over: Record<string, unknown> = {}) => ({
  url: 'https://github.com/acme/deploy',
  baseBranch: 'main',
  secretRef: { name: 'git' },
  ...over,
})

const byUrl = (url: string) => ({ promotion: { strategy: { 'pull-request': repository({ type: 'github', url }) } } })

/** A fault, a spec that has it, and the texts that the refusal must contain, its field first. */
interface Refusal {
  readonly what: string
  readonly spec: Record<string, unknown>
  readonly says: readonly string[]
}

const refusal = (what: string, spec: Record<string, unknown>, ...says: string[]): Refusal => ({ what, spec, says })

const pullRequest = 'spec.promotion.strategy.pull-request'

/** Refused by the CRD's schema, in any cluster. */
export const refusedBySchema: readonly Refusal[] = [
  refusal('no environments', { environments: [] }, 'spec.environments', 'at least 1 items'),
  refusal('no environments at all', { environments: undefined }, 'spec.environments', 'Required value'),
  refusal(
    'an environment twice',
    { environments: [environment('dev'), environment('dev')] },
    'spec.environments[1]',
    'Duplicate',
  ),
  refusal(
    'an environment without a name',
    { environments: [{ targets: [{ namespace: 'a' }] }] },
    'spec.environments[0].name',
    'Required value',
  ),
  refusal('an invalid name', { environments: [environment('Dev 1')] }, 'spec.environments[0].name', 'Invalid value'),
  refusal(
    'an environment without targets',
    { environments: [environment('dev', { targets: [] })] },
    'spec.environments[0].targets',
    'at least 1 items',
  ),
  refusal(
    'two strategies',
    { promotion: { strategy: { 'pull-request': repository({ type: 'github' }), notification: {} } } },
    'spec.promotion.strategy',
    'exactly one of pull-request, notification, commit and webhook must be set',
  ),
  refusal('no strategy', { promotion: { strategy: {} } }, 'spec.promotion.strategy', 'exactly one of'),
  refusal(
    'two strategies for one environment',
    {
      environments: [
        environment('dev'),
        environment('prod', { promotion: { strategy: { notification: {}, commit: repository() } } }),
      ],
    },
    'spec.environments[1].promotion.strategy',
    'exactly one of',
  ),
  ...[
    'http://github.com/acme/deploy',
    'git://github.com/acme/deploy',
    'ssh://git:secret@github.com/acme/deploy',
    'https://user:secret@github.com/acme/deploy',
    'deploy',
    '',
  ].map((url) => refusal(`the address "${url}"`, byUrl(url), `${pullRequest}.url`)),
  refusal(
    'an address with a password',
    byUrl('https://me:pass@github.com/a/b'),
    `${pullRequest}.url`,
    'must be https://host/path, ssh://user@host/path or user@host:path, without a password',
  ),
  refusal(
    'a bad address for commits',
    { promotion: { strategy: { commit: repository({ url: 'ftp://x/y' }) } } },
    'spec.promotion.strategy.commit.url',
  ),
  refusal(
    'a plain webhook',
    { promotion: { strategy: { webhook: { url: 'http://x.test/' } } } },
    'spec.promotion.strategy.webhook.url',
  ),
  refusal(
    'a forge nobody knows',
    { promotion: { strategy: { 'pull-request': repository({ type: 'sourceforge' }) } } },
    `${pullRequest}.type`,
    'Unsupported value',
  ),
  refusal(
    'a signing key without a name',
    { promotion: { strategy: { commit: repository({ commit: { signingKeyRef: {} } }) } } },
    'spec.promotion.strategy.commit.commit.signingKeyRef.name',
    'Required value',
  ),
  refusal('an interval that is none', { interval: 'soon' }, 'spec.interval', 'Invalid value'),
  refusal('a quiet period below zero', { settle: { quietPeriod: '-5s' } }, 'spec.settle.quietPeriod', 'Invalid value'),
  refusal(
    'a soak without a unit',
    { environments: [environment('dev'), environment('prod', { soak: '30' })] },
    'spec.environments[1].soak',
    'Invalid value',
  ),
  refusal('a policy nobody knows', { runPolicy: 'Sometimes' }, 'spec.runPolicy', 'Unsupported value'),
  refusal(
    'a dependency on nobody',
    { environments: [environment('dev'), environment('prod', { dependsOn: ['staging'] })] },
    'spec.environments',
    'dependsOn must name other environments of this pipeline',
  ),
  refusal(
    'a dependency on itself',
    { environments: [environment('dev'), environment('prod', { dependsOn: ['prod'] })] },
    'spec.environments',
    'dependsOn must name other environments of this pipeline',
  ),
  refusal(
    'a first environment that depends on another',
    { environments: [environment('dev', { dependsOn: ['prod'] }), environment('prod')] },
    'spec.environments',
    'must be empty for the first environment',
  ),
  refusal(
    'another kind of cluster',
    {
      environments: [environment('dev', { targets: [{ namespace: 'a', clusterRef: { kind: 'Cluster', name: 'x' } }] })],
    },
    'spec.environments[0].targets[0].clusterRef.kind',
    'Unsupported value',
  ),
]

/** Refused by Sojourn's own validation: on the embedded server at admission, in a cluster by the webhook. */
export const refusedByProgram: readonly Refusal[] = [
  refusal(
    'environments that depend on each other',
    {
      environments: [
        environment('dev'),
        environment('a', { dependsOn: ['b'] }),
        environment('b', { dependsOn: ['c'] }),
        environment('c', { dependsOn: ['a'] }),
      ],
    },
    'spec.environments',
    'is part of a dependency cycle',
  ),
  refusal('a healthy expression that does not parse', { adapter: { healthy: 'self.status.' } }, 'spec.adapter.healthy'),
  refusal(
    'a revision expression of an unknown variable',
    { adapter: { revision: 'object.spec.version' } },
    'spec.adapter.revision',
  ),
  refusal('a value expression that does not parse', { adapter: { value: 'revision +' } }, 'spec.adapter.value'),
  refusal('a duration longer than time', { interval: '99999999999999999999h' }, 'spec.interval', 'is not a duration'),
  refusal(
    'a target twice',
    { environments: [environment('dev', { targets: [{ namespace: 'a' }, { namespace: 'a' }] })] },
    'spec.environments[0].targets[1]',
    'is listed twice',
  ),
  refusal(
    'an invalid schedule of a window',
    {
      environments: [
        environment('dev'),
        environment('prod', { windows: [{ kind: 'Allow', schedule: '99 99 * * *', duration: '1h' }] }),
      ],
    },
    'spec.environments[1].windows[0]',
  ),
  refusal(
    'an unknown time zone of a window',
    {
      environments: [
        environment('dev'),
        environment('prod', {
          windows: [{ kind: 'Allow', schedule: '0 9 * * *', duration: '1h', timeZone: 'Nowhere/Land' }],
        }),
      ],
    },
    'spec.environments[1].windows[0]',
  ),
  refusal(
    'an invalid share of targets',
    { environments: [environment('dev', { requireTargets: 'most' })] },
    'spec.environments[0].requireTargets',
    'must be All, a number or a percentage',
  ),
]

/** Must be accepted, old manifests among them. */
export const accepted: readonly (readonly [what: string, spec: Record<string, unknown>])[] = [
  ['as pipeline-controller had it', {}],
  ['by SSH', byUrl('ssh://git@github.com:22/acme/deploy.git')],
  [
    'by a short SSH address, signed',
    {
      promotion: {
        strategy: {
          commit: repository({ url: 'git@github.com:acme/deploy.git', commit: { signingKeyRef: { name: 'key' } } }),
        },
      },
    },
  ],
  [
    'as a graph, in any order',
    {
      environments: [
        environment('dev'),
        environment('prod', { dependsOn: ['a', 'b'] }),
        environment('a', { dependsOn: ['dev'] }),
        environment('b', { dependsOn: ['dev'] }),
      ],
    },
  ],
  [
    'with expressions',
    { adapter: { healthy: 'self.status.ok', revision: 'self.status.revision', value: 'revision.split(":")[1]' } },
  ],
]
