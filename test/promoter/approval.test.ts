import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { approval as approvalKind, type Approval, type ApprovalSpec } from '../../src/apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../src/apis/pipeline.ts'
import { shippedPolicies } from '../../src/admission/policies/policy.ts'
import { Client } from '../../src/client/client.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { approve } from '../../src/systems/promoter/http/approve.ts'
import { environments, pipelineOf } from './world.ts'
import { TestCluster, TestPromoter } from './cluster.ts'

let home: TestCluster
let test: TestPromoter

const place = { namespace: 'team', name: 'app' }
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const clusterRoles = { ...rbac, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false }
const roleBindings = { ...rbac, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true }

beforeEach(async () => {
  home = await TestCluster.start({ hasPolicies: true })
  test = new TestPromoter(home)
  await home.namespace('team')
  await home.client.create(
    clusterRoles,
    shippedPolicies('approvals').find(({ kind }) => kind === 'ClusterRole')!,
  )
  await home.client.create(roleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { namespace: 'team', name: 'approvers' },
    roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'sojourn-approver' },
    subjects: ['ann', 'bob', 'cy'].map((name) => ({ apiGroup: rbac.group, kind: 'User', name })),
  })
})
afterEach(async () => {
  await test.stop()
  await home.close()
})

const as = (name: string) => new Client(home.server.transportAs({ name, groups: ['system:authenticated'] }))
const promotionOf = ({ status }: Pipeline) => status?.environments?.['prod']?.promotion
const waitingOf = ({ status }: Pipeline) => status?.environments?.['prod']?.waitingApproval

/** prod waits for two approvals of 1.1.0 out of ann, bob and dan; the id of what waits. */
async function wait(): Promise<string> {
  await home.release('dev', '1.1.0')
  await home.release('prod', '1.0.0')
  const approval = { required: 2, approvers: ['ann', 'bob', 'dan'] }
  await test.pipeline(
    'app',
    pipelineOf({
      environments: environments('dev', 'prod'),
      promotion: { strategy: { notification: {} }, approval },
    }).spec,
  )
  return waitingOf(await test.until('app', waitingOf))?.promotionId ?? ''
}

function approvalOf(promotionId: string, over: Partial<ApprovalSpec> = {}, name = 'mine') {
  return {
    apiVersion: approvalKind.apiVersion,
    kind: 'Approval',
    metadata: { namespace: 'team', name },
    spec: { pipeline: 'app', environment: 'prod', promotionId, decision: 'Approve', approver: 'ann', ...over },
  }
}

const stateOf = async (name: string) =>
  (await home.client.get<Approval>(approvalKind.type, { namespace: 'team', name })).status

describe('an Approval', () => {
  it('may be given by whom RBAC lets, in their own name and no other', async () => {
    const id = await wait()
    await expect(as('mallory').create(approvalKind.type, approvalOf(id, { approver: 'mallory' }))).rejects.toThrow(
      'cannot create',
    )
    await expect(as('ann').create(approvalKind.type, approvalOf(id, { approver: 'bob' }))).rejects.toThrow(
      'spec.approver: must be ann',
    )
    await as('ann').create(approvalKind.type, approvalOf(id))
    await expect.poll(() => stateOf('mine')).toMatchObject({ state: 'Counted' })
  })

  it('counts with others of the same promotion until there are enough different people', async () => {
    const id = await wait()
    await as('ann').create(approvalKind.type, approvalOf(id, {}, 'one'))
    await as('ann').create(approvalKind.type, approvalOf(id, {}, 'again'))
    await as('cy').create(approvalKind.type, approvalOf(id, { approver: 'cy' }, 'outsider'))
    await expect.poll(() => stateOf('outsider')).toMatchObject({ state: 'Ignored', reason: 'NotAnApprover' })
    const half = await test.get('app')
    expect(promotionOf(half)?.phase).toBe('AwaitingApproval')
    expect(new Set(waitingOf(half)?.approvals?.map(({ approver }) => approver))).toEqual(new Set(['ann']))
    await as('bob').create(approvalKind.type, approvalOf(id, { approver: 'bob' }, 'two'))
    const gone = await test.until('app', (pipeline) => promotionOf(pipeline)?.phase === 'RollingOut')
    expect(promotionOf(gone)?.approvedBy?.toSorted()).toEqual(['ann', 'bob'])
  })

  it('N25: of another promotion is ignored and says so', async () => {
    await wait()
    await as('ann').create(approvalKind.type, approvalOf('0123456789abcdef'))
    await expect.poll(() => stateOf('mine')).toMatchObject({ state: 'Ignored', reason: 'ApprovalStale' })
    expect(promotionOf(await test.get('app'))?.phase).toBe('AwaitingApproval')
  })

  it('that rejects ends the promotion despite earlier approvals', async () => {
    const id = await wait()
    for (const approver of ['ann', 'bob'])
      await as(approver).create(
        approvalKind.type,
        approvalOf(id, { approver, decision: approver === 'ann' ? 'Reject' : 'Approve' }, approver),
      )
    const refused = await test.until('app', (pipeline) => promotionOf(pipeline)?.phase === 'Rejected')
    expect(promotionOf(refused)).toMatchObject({ because: 'ApprovalRefused' })
  })

  it('cannot be changed once it is given', async () => {
    const id = await wait()
    await as('ann').create(approvalKind.type, approvalOf(id))
    const change = home.client.patch(
      approvalKind.type,
      { namespace: 'team', name: 'mine' },
      { type: 'merge', body: { spec: { decision: 'Reject' } } },
    )
    await expect(change).rejects.toThrow('is immutable: delete the Approval and create another')
  })

  it.each([
    ['no promotion id', { promotionId: '' }, 'spec.promotionId'],
    ['another word', { decision: 'Maybe' as never }, 'spec.decision'],
    ['no approver', { approver: '' }, 'spec.approver'],
  ])('with %s is refused, naming the field', async (_, over, field) => {
    const bad = home.client.create(approvalKind.type, approvalOf('0123456789abcdef', over))
    await expect(bad).rejects.toThrow(field)
  })

  it('is removed a month after it was given, with those of pipelines that are gone, and never while it counts or is marked', async () => {
    const id = await wait()
    const give = (name: string, over: Partial<ApprovalSpec>, annotations = {}) => {
      const given = approvalOf(id, over, name)
      return as('ann').create(approvalKind.type, { ...given, metadata: { ...given.metadata, annotations } })
    }
    await give('counts', {})
    await give('old', { promotionId: '0'.repeat(16) })
    await give('marked', { promotionId: '0'.repeat(16) }, { 'sojourn.dev/keep': 'true' })
    await give('orphan', { pipeline: 'nowhere' })
    await expect.poll(() => stateOf('old')).toMatchObject({ state: 'Ignored' })
    const names = async () =>
      (await home.client.list<Approval>(approvalKind.type, { namespace: 'team' })).items.map(
        ({ metadata }) => metadata.name,
      )
    expect((await names()).toSorted()).toEqual(['counts', 'marked', 'old', 'orphan'])
    await test.stop()
    const clock = { ...systemClock, now: () => systemClock.now() + 31 * 86_400_000 }
    test = new TestPromoter(home, {}, { ports: { clock, log: silentLogger, metrics: new Metrics() } })
    await expect.poll(async () => (await names()).toSorted(), { timeout: 20_000 }).toEqual(['counts', 'marked'])
  })

  it('is what the command, the dashboard and the HTTP API make, once for the same word', async () => {
    const id = await wait()
    const request = { environment: 'prod', revision: '1.1.0', decision: 'Approve', approver: 'ann' } as const
    for (const outcome of ['recorded', 'same'])
      expect(await approve(as('ann'), place, { request, clock: systemClock })).toEqual({ outcome, promotionId: id })
    const { items } = await home.client.list<Approval>(approvalKind.type, { namespace: 'team' })
    expect(items).toMatchObject([
      { spec: { promotionId: id, approver: 'ann' }, metadata: { ownerReferences: [{ name: 'app' }] } },
    ])
    await home.client.deleteObject(pipelineKind.type, place)
  })
})
