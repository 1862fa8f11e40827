import { afterEach, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'
import { policyObject } from '../../../test/janitor/fixtures.ts'
import type { CleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { noticeJson } from '../../notices/webhook-channel.ts'
import { noticeHtml } from '../../notices/html.ts'
import type { Channel, Notice } from '../../notices/notice.ts'
import { slackMessages } from '../../notices/slack.ts'
import { noticeText } from '../../notices/text.ts'
import { noticeItem } from './cycles/notice-item.ts'
import { compilePolicy, type CompiledPolicy } from './policy/policy.ts'

const hour = 3_600_000
let world: JanitorWorld
afterEach(() => world[Symbol.asyncDispose]())

/** A world whose server people reach at this URL, and the notices that it has sent after three hours. */
async function sent(publicUrl: string | undefined): Promise<readonly Notice[]> {
  const notices: Notice[] = []
  const channel: Channel = {
    name: 'mail',
    audience: 'group',
    send: (notice) => {
      notices.push(notice)
      return Promise.resolve({ accepted: ['team'], rejected: [] })
    },
  }
  world = await startJanitorWorld({
    janitor: { publicUrl: () => publicUrl, openChannel: () => channel },
  })
  await world.channel('mail', { type: 'webhook', webhook: { url: 'https://hooks.example.org' } })
  await world.policy({ notification: { channels: ['mail'] } })
  await world.configMap('old')
  await world.clock.run(world.clock.now() + 3 * hour)
  expect(notices).not.toEqual([])
  return notices
}

it('sends a command and no link where no public URL is known, in every form of a notice', async () => {
  const [notice] = await sent(undefined)
  const command = 'sojourn opt-out configmap/old -n team'
  for (const text of [
    noticeText(notice!),
    noticeHtml(notice!),
    JSON.stringify([noticeJson(notice!), slackMessages(notice!)]),
  ]) {
    expect(text).toContain(command)
    expect(text).not.toMatch(/https?:|undefined|0\.0\.0\.0|127\.0\.0\.1/)
  }
  const conditions = (await world.readPolicy()).status?.conditions
  expect(conditions).toContainEqual(
    expect.objectContaining({
      type: 'NoticeLinks',
      status: 'False',
      reason: 'NoPublicUrl',
      message: expect.stringContaining('--public-url') as unknown,
    }),
  )
})

it('sends links to the public URL where one is known', async () => {
  const [notice] = await sent('https://sojourn.example')
  expect(noticeText(notice!)).toContain('Keep it: https://sojourn.example/janitor/opt-out/')
  const conditions = (await world.readPolicy()).status?.conditions
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'NoticeLinks', status: 'True' }))
})

it('125: a command in a notice is one command, whatever the name of the object', async () => {
  const [notice] = await sent(undefined)
  const item = (name: string) => {
    const resource = { provider: 'kubernetes', apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', uid: 'u' }
    const spec = { policy: 'p', location: '', resource: { ...resource, namespace: 'team', name } }
    const candidate = { metadata: { name: 'c' }, spec } as unknown as CleanupCandidate
    const policy = compilePolicy(policyObject({})) as CompiledPolicy
    const context = { key: 'k', publicUrl: undefined, otherPolicies: [], clusterName: 'x', now: 0 }
    return noticeItem(candidate, policy, context).keepCommand
  }
  expect(notice?.items[0]?.keepCommand).toBe('sojourn opt-out configmap/old -n team')
  expect(item('system:reader')).toBe('sojourn opt-out role/system:reader -n team')
  expect(item("a; 'b'|sh")).toBe(String.raw`sojourn opt-out 'role/a; '\''b'\''|sh' -n team`)
})
