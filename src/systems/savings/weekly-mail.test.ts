import { expect, it } from 'vitest'
import { notificationChannel, type NotificationChannel } from '../../apis/notification-channel.ts'
import { savingsReport, type SavingsRow } from '../../apis/savings-report.ts'
import { Client } from '../../client/client.ts'
import { openChannel } from '../../notices/open-channel.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { startMailSink } from '../../../test/janitor/sinks.ts'
import { localNetwork } from '../../../test/local-network.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { weeklyMailController } from './weekly-mail.ts'

const day = 86_400_000
const row = (given: Partial<SavingsRow>): SavingsRow => ({
  system: 'environments',
  state: 'Asleep',
  currency: 'USD',
  ...given,
})

/** Starts the controller as a new process would. */
function launch(world: World) {
  const client = new Client(world.server.transport)
  const { clock } = world
  const informers = new Informers({ clock: quietClock(clock), log: silentLogger }, { freeze: true })
  const ports = { clock, log: silentLogger, metrics: new Metrics() }
  const open = (channel: NotificationChannel) => openChannel(channel, { client, clock, network: localNetwork() })
  const controller = weeklyMailController({ client, informers, ports, channels: ['owners', 'team'], openChannel: open })
  const stopping = new AbortController()
  const running = controller.start(stopping.signal)
  return async () => {
    stopping.abort()
    await running
    informers.close()
  }
}

it('mails each owner and the team on Monday at 08:00, once, also after a restart', async () => {
  // A Friday.
  await using world = await startWorld({ startAt: Date.parse('2026-01-09T12:00:00Z') })
  await using sink = await startMailSink()
  const smtp = { host: '127.0.0.1', port: sink.port, from: 'sojourn@example.org' }
  const { apiVersion, kind } = notificationChannel
  for (const [name, to] of [
    ['owners', undefined],
    ['team', ['platform@example.org']],
    ['other', ['other@example.org']],
  ] as const)
    await world.create({
      apiVersion,
      kind,
      metadata: { name },
      spec: { type: 'smtp', smtp: { ...smtp, ...(to ? { to } : {}) } },
    })
  const report = (on: string, rows: readonly SavingsRow[]) =>
    world.create({
      apiVersion: savingsReport.apiVersion,
      kind: savingsReport.kind,
      metadata: { name: `savings-${on}`, namespace: 'sojourn-system' },
      spec: { day: on, accruedTo: `${on}T23:59:59Z`, uncounted: 3, rows },
    })
  const ada = { owner: 'ada@example.org', cpuSeconds: 36_000, memoryGiBSeconds: 72_000 }
  await report('2026-01-04', [row({ ...ada, namespace: 'the-week-before', cost: 100 })])
  await report('2026-01-08', [
    row({ ...ada, namespace: 'shop-pr-42', cost: 1.8 }),
    row({ ...ada, namespace: 'shop-pr-43', cost: 0.65 }),
    row({ owner: 'ben@example.org', namespace: 'tiny', cost: 0.001 }),
    row({ owner: 'no address', namespace: 'x', state: 'Deleted', cost: 5 }),
  ])
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop-pr-7' } })
  await world.create({
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Environment',
    metadata: { name: 'environment', namespace: 'shop-pr-7' },
    spec: { className: 'preview', owner: 'ada@example.org' },
  })
  const stop = launch(world)
  await world.pass(2 * day)
  await world.pass(19 * 3_600_000)
  const plain = (text: string) => text.replaceAll('=\r\n', '')
  const about = (monday: string) => () => sink.mails.filter(({ text }) => plain(text).includes(`week before ${monday}`))
  await expect.poll(about('2026-01-05'), { timeout: 10_000 }).toHaveLength(2)
  sink.mails.length = 0
  await world.pass(2 * 3_600_000)
  await expect.poll(about('2026-01-12'), { timeout: 10_000 }).toHaveLength(2)
  await world.pass(0)
  await stop()
  const again = launch(world)
  await world.pass(day)
  await again()
  expect(sink.mails).toHaveLength(2)
  expect(new Set(sink.mails.flatMap(({ to }) => to))).toEqual(new Set(['ada@example.org', 'platform@example.org']))
  const textTo = (address: string) => plain(sink.mails.find(({ to }) => to.includes(address))?.text ?? '')
  expect(textTo('ada@example.org')).toContain('released 20.0 CPU h and 40.0 GiB h, about 2.45 USD')
  expect(textTo('ada@example.org')).toContain('Most: shop-pr-42 (1.80 USD), shop-pr-43 (0.65 USD).')
  expect(textTo('ada@example.org')).toContain('Never slept: shop-pr-7.')
  expect(textTo('platform@example.org')).toMatch(/about 7\.45 USD/)
  expect(textTo('platform@example.org')).toMatch(/Namespaces:\r?\n  x \(5\.00 USD\)\r?\n/)
  expect(textTo('platform@example.org')).toContain('Not counted: 3 sleeping workloads without requests.')
}, 60_000)
