import { approval } from '../../src/apis/approval.ts'
import { bond } from '../../src/apis/bond.ts'
import { cleaner, ownCleaner } from '../../src/apis/cleaner.ts'
import { cleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupOptOut } from '../../src/apis/cleanup-opt-out.ts'
import { cleanupPolicy, type CleanupPolicySpec } from '../../src/apis/cleanup-policy.ts'
import { conditionalTtl } from '../../src/apis/conditional-ttl.ts'
import type { Kind } from '../../src/apis/define-kind.ts'
import { departurePage } from '../../src/apis/departure-page.ts'
import { departure } from '../../src/apis/departure.ts'
import { environmentClass, type EnvironmentClassSpec } from '../../src/apis/environment-class.ts'
import { environment } from '../../src/apis/environment.ts'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import { pipeline, type Pipeline, type PipelineSpec } from '../../src/apis/pipeline.ts'
import { providerAccount } from '../../src/apis/provider-account.ts'
import { savingsReport } from '../../src/apis/savings-report.ts'
import { usageLedger } from '../../src/apis/usage-ledger.ts'
import { workSchedule } from '../../src/apis/work-schedule.ts'
import { Client } from '../../src/client/client.ts'
import { secrets } from '../../src/kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { bondController } from '../../src/systems/collector/bonds/bond-controller.ts'
import type { PromoterOptions } from '../../src/systems/promoter/controller.ts'
import type { Actor } from '../../src/tenancy/act-as.ts'
import { startCleaner } from '../cleaners.ts'
import { classOf, day, deploymentOf, minute, namespaceOf, place, start } from '../environments/environments-world.ts'
import { startJanitorWorld, type JanitorWorld } from '../janitor/janitor-world.ts'
import { condition, TestCluster, TestPromoter } from '../promoter/cluster.ts'
import { specOf } from '../promoter/clusters.ts'
import { pullRequestPromotion } from '../promoter/world.ts'
import type { World } from '../world.ts'

/** What kstatus can say of an object that is not being deleted. */
export type Verdict = 'Current' | 'InProgress' | 'Failed'

/** A state of an object, what kstatus must say of it, and how the controllers bring an object into it. */
export type State = readonly [state: string, expected: Verdict, object: () => Promise<KubeObject>]

/** By the key of their kind, the states of its objects. */
export type States = Readonly<Record<string, readonly State[]>>

export const keyOfKind = ({ apiVersion, kind }: Kind) => `${kind} of ${apiVersion}`

const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
const named = { name: 'a', delete: false, includeWhenEvaluating: true, reference: { ...configMap, name: 'a' } }
const widget = { ...named, reference: { apiVersion: 'example.org/v1', kind: 'Widget', name: 'a' } }
const kubeSystem = { ...named, reference: { apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' } }

/** Runs cleaner, collector and janitor; returns what the function makes there. */
async function withSystems(make: (world: JanitorWorld) => Promise<KubeObject>): Promise<KubeObject> {
  await using world = await startJanitorWorld()
  const running = await startCleaner(world)
  world.run(bondController({ ...world }))
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
  try {
    return await make(world)
  } finally {
    await running.kill()
  }
}

async function created(world: World, kind: Kind, spec: object): Promise<KubeObject> {
  const ref = { apiVersion: kind.apiVersion, kind: kind.kind }
  const metadata = { name: 'it', ...(kind.scope === 'Namespaced' ? { namespace: 'team' } : {}) }
  await world.create({ ...ref, metadata, spec })
  await world.pass(5000)
  return found(await world.get<StoredObject>({ ...ref, ...metadata }))
}

function found<T>(object: T | undefined): T {
  if (!object) throw new Error('it is gone')
  return object
}

const made = (kind: Kind, spec: object) => () => withSystems((world) => created(world, kind, spec))

const statesOfCleaners = (kind: Kind): readonly State[] => [
  ['waits for its TTL', 'Current', made(kind, { ttl: '24h' })],
  ['waits for a condition', 'Current', made(kind, { ttl: '0s', conditions: ['false'] })],
  ['waits for a target', 'InProgress', made(kind, { ttl: '0s', targets: [named] })],
  ['waits for a kind', 'InProgress', made(kind, { ttl: '0s', targets: [widget] })],
  ['cannot evaluate a condition', 'InProgress', made(kind, { ttl: '0s', conditions: ['[][0] == 1'] })],
  ['has a condition that is no boolean', 'Failed', made(kind, { ttl: '0s', conditions: ['dyn(1)'] })],
  ['has a condition that cannot be compiled', 'Failed', made(kind, { ttl: '0s', conditions: ['nope'] })],
  ['has an invalid spec', 'Failed', made(kind, { ttl: 'soon' })],
]

/** What only Cleaners have. */
const statesOfCleanersOnly = (kind: Kind): readonly State[] => [
  ['is suspended', 'Current', made(kind, { ttl: '0s', suspend: true })],
  ['is a dry run', 'Current', made(kind, { ttl: '0s', dryRun: true })],
  ['names a schedule that does not exist', 'Current', made(kind, { ttl: '0s', schedule: 'nowhere' })],
  ['refers beyond its namespace', 'Failed', made(kind, { ttl: '0s', targets: [kubeSystem] })],
]

const bound = (spec: object) => () =>
  withSystems(async (world) => {
    await world.create({ ...configMap, metadata: { name: 'database', namespace: 'platform' } })
    await world.configMap('app')
    return created(world, bond, { dependent: { ...configMap, name: 'app' }, ...spec })
  })
const database = { ...configMap, namespace: 'platform', name: 'database' }

const statesOfBonds: readonly State[] = [
  ['is in force', 'Current', bound({ dependency: database, onDelete: 'Cascade' })],
  ['has no dependency', 'InProgress', bound({ dependency: { ...database, name: 'none' }, onDelete: 'Cascade' })],
  ['has no dependent', 'InProgress', bound({ dependency: database, dependent: { ...configMap, name: 'none' } })],
  [
    'has a kind that is not served',
    'InProgress',
    bound({ dependency: { ...widget.reference, namespace: 'platform' }, onDelete: 'Cascade' }),
  ],
  [
    'has a dependent outside of its namespace',
    'Failed',
    bound({
      dependency: database,
      dependent: { apiVersion: 'v1', kind: 'Namespace', name: 'team' },
      onDelete: 'Orphan',
    }),
  ],
  ['has no permission to block', 'Failed', bound({ dependency: database, onDelete: 'Hold' })],
  [
    'names a ServiceAccount without rights',
    'Failed',
    () =>
      withSystems(async (world) => {
        await world.create({ ...configMap, metadata: { name: 'database', namespace: 'platform' } })
        await world.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sa', namespace: 'team' } })
        const dependent = { ...configMap, name: 'app' }
        return created(world, bond, { dependent, dependency: database, onDelete: 'Cascade', serviceAccountName: 'sa' })
      }),
  ],
]

const policy = (spec: Partial<CleanupPolicySpec>) => () =>
  withSystems(async (world) => {
    const { metadata } = await world.policy(spec)
    await world.pass(60_000)
    return found(await world.get<StoredObject>({ ...cleanupPolicy, name: metadata.name }))
  })

const secretRef = { name: 's' }
const account = { provider: 'aws', regions: ['eu-central-1'] }
const slack = { type: 'slack', slack: { secretRef } }

/** Creates the object, and after that the Secret that it names. */
const withLaterSecret = (kind: Kind, spec: object) => () =>
  withSystems(async (world) => {
    await created(world, kind, spec)
    const metadata = { ...secretRef, namespace: 'sojourn-system' }
    await world.client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata })
    await world.pass(2 * minute)
    return found(await world.get<StoredObject>({ ...kind, name: 'it' }))
  })

const optedOut = { resource: { ...configMap, namespace: 'team', name: 'a' } }
const windows = [{ days: ['Monday'] }]

const statesOfSettings: States = {
  [keyOfKind(workSchedule)]: [
    ['is valid', 'Current', made(workSchedule, { windows })],
    ['has an unknown time zone', 'Failed', made(workSchedule, { windows, timeZone: 'Mars/Olympus' })],
  ],
  [keyOfKind(notificationChannel)]: [
    ['is valid', 'Current', made(notificationChannel, { type: 'event' })],
    ['has no Secret', 'InProgress', made(notificationChannel, slack)],
    ['has no settings of its type', 'Failed', made(notificationChannel, { type: 'smtp' })],
  ],
  [keyOfKind(providerAccount)]: [
    ['is valid', 'Current', made(providerAccount, account)],
    ['has no Secret', 'InProgress', made(providerAccount, { ...account, secretRef })],
    ['got its Secret later', 'Current', withLaterSecret(providerAccount, { ...account, secretRef })],
  ],
  [keyOfKind(cleanupOptOut)]: [
    ['protects', 'Current', made(cleanupOptOut, optedOut)],
    ['has expired', 'Current', made(cleanupOptOut, { ...optedOut, expiresAt: '2020-01-01T00:00:00Z' })],
  ],
  [keyOfKind(cleanupPolicy)]: [
    ['works', 'Current', policy({})],
    ['is suspended', 'Current', policy({ suspend: true })],
    ['is invalid', 'Failed', policy({ scheduleRef: 'nowhere' })],
  ],
}

/** Runs the environments of a class, and reads one of them after the function. */
const environmentIn =
  (
    spec: Partial<EnvironmentClassSpec>,
    act: (world: World) => Promise<unknown> = () => Promise.resolve(),
    at = place,
  ) =>
  async () => {
    await using started = await start({ channels: [], ...spec })
    const { world } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(minute)
    await act(world)
    await world.pass(minute)
    return found(await world.get<StoredObject>({ ...environment, ...at }))
  }

const patchClass = (spec: object) => (world: World) =>
  world.client.patch(environmentClass.type, { name: 'preview' }, { type: 'merge', body: { spec } })

const claim = (namespace: string, client?: (world: World) => Promise<Client>) => async (world: World) => {
  const { apiVersion, kind } = environment
  const object = { apiVersion, kind, metadata: { name: 'it', namespace }, spec: { className: 'preview' } }
  await (client ? await client(world) : world.client).create(environment.type, object)
}

/** A user who may write Environments, and delete no Namespace. */
async function tenant(world: World): Promise<Client> {
  const group = 'rbac.authorization.k8s.io'
  const metadata = { name: 'tenant' }
  const rules = [{ apiGroups: ['sojourn.dev'], resources: ['environments'], verbs: ['*'] }]
  const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'tenant' }
  const subjects = [{ kind: 'User', name: 'tenant', apiGroup: group }]
  await world.create({ apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata, rules })
  await world.create({ apiVersion: `${group}/v1`, kind: 'ClusterRoleBinding', metadata, roleRef, subjects })
  return new Client(world.server.transportAs({ name: 'tenant', groups: ['system:authenticated'] }))
}

const asleep = { power: 'Asleep', powerUntil: '2100-01-01T00:00:00Z' }

const statesOfEnvironments: readonly State[] = [
  ['waits for its date', 'Current', environmentIn({})],
  [
    'sleeps',
    'Current',
    environmentIn({}, (world) =>
      world.client.patch(environment.type, place, { type: 'merge', body: { spec: asleep } }),
    ),
  ],
  ['is announced', 'Current', environmentIn({ delete: { after: '7d' } }, (world) => world.pass(6.5 * day))],
  ['is paused with its class', 'Current', environmentIn({ paused: true })],
  [
    'has no class',
    'InProgress',
    environmentIn({}, (world) => world.client.deleteObject(environmentClass.type, { name: 'preview' }, {})),
  ],
  ['has no channel', 'InProgress', environmentIn({ channels: ['none'] })],
  ['has no schedule', 'InProgress', environmentIn({ sleep: { awake: 'none' } })],
  ['has an invalid class', 'Failed', environmentIn({}, patchClass({ delete: { when: 'nope(' } }))],
  ['is a second one', 'Failed', environmentIn({}, claim('shop-pr-42'), { ...place, name: 'it' })],
  ['is where none may be', 'Failed', environmentIn({}, claim('kube-system'), { namespace: 'kube-system', name: 'it' })],
  [
    'has an author without rights',
    'Failed',
    environmentIn({}, claim('team', tenant), { namespace: 'team', name: 'it' }),
  ],
  [
    'is beyond the limit of its class',
    'Failed',
    environmentIn(
      { limits: { max: 1 } },
      async (world) => {
        await world.create(namespaceOf('shop-pr-43'))
      },
      { namespace: 'shop-pr-43', name: 'shop-pr-43' },
    ),
  ],
]

const classIn =
  (spec: Partial<EnvironmentClassSpec>, ...more: readonly KubeObject[]) =>
  async () => {
    await using started = await start({ channels: [], ...spec })
    const { world } = started
    for (const object of [namespaceOf(), ...more]) await world.create(object)
    await world.pass(minute)
    return found(await world.get<StoredObject>({ ...environmentClass, name: 'preview' }))
  }

const statesOfClasses: readonly State[] = [
  ['is in force', 'Current', classIn({})],
  ['is paused', 'Current', classIn({ paused: true })],
  ['overlaps with another', 'Current', classIn({}, classOf({ channels: [] }, 'another'))],
  ['has an invalid expression', 'Failed', classIn({ delete: { when: 'nope(' } })],
  ['warns for longer than it waits', 'Failed', classIn({ delete: { after: '1d', warnBefore: '9d' } })],
]

/** Runs the promoter with dev at 1.1.0 and prod at 1.0.0, and reads with the function. */
async function withPromoter(
  read: (test: TestPromoter) => Promise<KubeObject>,
  options: Partial<PromoterOptions> = {},
): Promise<KubeObject> {
  const home = await TestCluster.start()
  const test = new TestPromoter(home, {}, options)
  try {
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    return await read(test)
  } finally {
    await test.stop()
    await home.close()
  }
}

/** The Pipeline once its condition has the reason. */
function pipelineOnce(
  spec: Partial<PipelineSpec>,
  type: string,
  reason: string,
  options: Partial<PromoterOptions> = {},
) {
  return () =>
    withPromoter(async (test) => {
      await test.pipeline('app', specOf(spec))
      return test.until('app', ({ status }) =>
        status?.conditions?.some((each) => each.type === type && each.reason === reason),
      )
    }, options)
}

const powerless: Actor = {
  client: new Client(() => Promise.reject(new Error('nothing may be read'))),
  refusalOf: () => Promise.resolve({ reason: 'CreatorForbidden', message: 'user "ann" may not get helmreleases' }),
}

const approved = { promotion: { strategy: { notification: {} }, approval: { required: 1 } } }
const environments = (dev: string, prod: string) =>
  [dev, prod].map((namespace, index) => ({ name: ['dev', 'prod'][index]!, targets: [{ namespace }] }))
const cycle = [
  { name: 'dev', targets: [{ namespace: 'dev' }] },
  { name: 'staging', targets: [{ namespace: 'staging' }], dependsOn: ['prod'] },
  { name: 'prod', targets: [{ namespace: 'prod' }], dependsOn: ['staging'] },
]
const waiting = ({ status }: Pipeline) => status?.environments?.['prod']?.waitingApproval?.promotionId

/** The Approval of what waits, once it has the state. */
const approvalOnce = (spec: object, state: string) => () =>
  withPromoter(async (test) => {
    await test.pipeline('app', specOf(approved))
    const promotionId = waiting(await test.until('app', waiting))
    const { client } = test.home
    const at = { namespace: 'team', name: 'it' }
    const about = { pipeline: 'app', environment: 'prod', promotionId, decision: 'Approve', approver: 'ann', ...spec }
    await client.create(approval.type, { apiVersion: approval.apiVersion, kind: 'Approval', metadata: at, spec: about })
    for await (const { object } of client.watch<StoredObject>(approval.type, { ...at, resourceVersion: '0' }))
      if ((object.status as { state?: string } | undefined)?.state === state) return object
    throw new Error('the watch ended')
  })

const statesOfPipelines: readonly State[] = [
  [
    'has nothing to promote',
    'Current',
    () =>
      withPromoter(async (test) => {
        await test.home.release('prod', '1.1.0')
        await test.pipeline('app', specOf())
        return test.until('app', ({ status }) => status?.run?.phase === 'Complete')
      }),
  ],
  ['waits for an approval', 'Current', pipelineOnce(approved, 'AwaitingApproval', 'AwaitingApproval')],
  ['is suspended', 'Current', pipelineOnce({ suspend: true }, 'Suspended', 'Suspended')],
  ['rolls out', 'InProgress', pipelineOnce({}, 'Reconciling', 'RunStarted')],
  [
    'has no target',
    'InProgress',
    pipelineOnce({ environments: environments('dev', 'no') }, 'Ready', 'TargetNotReadable'),
  ],
  ['depends on itself', 'Failed', pipelineOnce({ environments: cycle }, 'Ready', 'InvalidSpec')],
  [
    'has an author who may not read a target',
    'Failed',
    pipelineOnce({}, 'Ready', 'TargetNotReadable', { actAs: { for: () => powerless } }),
  ],
  [
    'has no Secret for its repository',
    'Failed',
    pipelineOnce({ promotion: pullRequestPromotion }, 'Stalled', 'CredentialsMissing'),
  ],
]

const statesOfApprovals: readonly State[] = [
  ['counts', 'Current', approvalOnce({}, 'Counted')],
  ['rejects', 'Current', approvalOnce({ decision: 'Reject' }, 'Counted')],
  ['is for another promotion', 'Failed', approvalOnce({ promotionId: '0123456789abcdef' }, 'Ignored')],
]

/** A GitopsCluster with the conditions that the controller of Weave GitOps writes. */
const gitops = (conditions?: readonly object[]) => () => {
  const metadata = { namespace: 'team', name: 'leaf', generation: 1 }
  const { apiVersion, kind } = gitopsCluster
  const status = conditions ? { status: { conditions } } : {}
  return Promise.resolve({ apiVersion, kind, metadata, spec: { secretRef }, ...status })
}

/** Kinds that only Sojourn writes, in each of their phases. */
const statesOfRecords: States = Object.fromEntries(
  [departure, departurePage, usageLedger, savingsReport, cleanupCandidate].map((kind) => {
    const { phase } = (kind.status as { properties?: { phase?: { enum?: string[] } } }).properties ?? {}
    const { apiVersion } = kind
    const states = [undefined, ...(phase?.enum ?? [])].map((each): State => {
      const status = each === undefined ? {} : { status: { phase: each } }
      const object = { apiVersion, kind: kind.kind, metadata: { name: 'it', generation: 1 }, ...status }
      return [`is ${each ?? 'a record without a phase'}`, 'Current', () => Promise.resolve(object)]
    })
    return [keyOfKind(kind), states]
  }),
)

/** Every kind that a controller of Sojourn reports on, in each of its states. */
export const reported: States = {
  [keyOfKind(cleaner)]: [...statesOfCleaners(cleaner), ...statesOfCleanersOnly(cleaner)],
  [keyOfKind(ownCleaner)]: [...statesOfCleaners(ownCleaner), ...statesOfCleanersOnly(ownCleaner)],
  [keyOfKind(conditionalTtl)]: statesOfCleaners(conditionalTtl),
  [keyOfKind(bond)]: statesOfBonds,
  ...statesOfSettings,
  [keyOfKind(environment)]: statesOfEnvironments,
  [keyOfKind(environmentClass)]: statesOfClasses,
  [keyOfKind(pipeline)]: statesOfPipelines,
  [keyOfKind(approval)]: statesOfApprovals,
}

/** Kinds on which no controller of Sojourn reports: records that it writes itself, and what another controller reports on. */
export const unreported: States = {
  ...statesOfRecords,
  [keyOfKind(gitopsCluster)]: [
    ['has no status', 'Current', gitops()],
    ['is ready', 'Current', gitops([condition('Ready', true)])],
    ['is not ready', 'InProgress', gitops([condition('Ready', false)])],
  ],
}
