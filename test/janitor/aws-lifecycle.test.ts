import { join } from 'node:path'
import { CreateVolumeCommand, EC2Client, RegisterImageCommand } from '@aws-sdk/client-ec2'
import { chromium } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CleanupPolicySpec } from '../../src/apis/cleanup-policy.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'
import { startJanitorWorld, type JanitorWorld } from './janitor-world.ts'
import { startMoto, whyNoMoto, type Moto } from './moto.ts'
import { startMailSink } from './sinks.ts'

const missing = await whyNoMoto()
const region = 'eu-west-1'
const hour = 3_600_000
const minute = 60_000

describe.skipIf(missing)('an AWS account in the care of the janitor', () => {
  let moto: Moto
  let proxy: FaultProxy
  let world: JanitorWorld
  let image: string

  beforeAll(async () => {
    moto = await startMoto()
    proxy = await startFaultProxy(moto.url)
  })
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]()
    await moto?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await moto.reset()
    const ec2 = new EC2Client({
      region,
      endpoint: moto.url,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    const { ImageId = '' } = await ec2.send(new RegisterImageCommand({ Name: 'web-base', RootDeviceName: '/dev/sda1' }))
    image = ImageId
    proxy.calls.length = 0
    proxy.fault = () => undefined
    world = await startJanitorWorld({ startAt: Date.now() })
    proxy.now = () => world.clock.now()
    await world.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'aws', namespace: 'sojourn-system' },
      stringData: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    await world.create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'ProviderAccount',
      metadata: { name: 'main' },
      spec: { provider: 'aws', regions: [region], endpoint: proxy.url, secretRef: { name: 'aws' } },
    })
    await world.pass(2 * hour)
  })
  afterEach(() => world[Symbol.asyncDispose]())

  const follow = (spec: Partial<CleanupPolicySpec> = {}) =>
    world.policy({
      targets: [{ aws: { accounts: ['main'], resourceTypes: ['image'] } }],
      rules: [{ rules: [{ name: 'OrphanedImageRule' }] }],
      exclusions: [],
      ...spec,
    })
  const deregistrations = () => proxy.writes().filter((action) => action === 'DeregisterImage').length

  it('C57: is marked and announced, and an image is deleted through the door, once', async () => {
    await follow()
    await world.pass(minute)
    expect(await world.phases()).toEqual({ [image]: 'Notified' })
    await world.pass(5 * hour)
    expect(deregistrations()).toBe(0)
    await world.pass(2 * hour)
    expect(await world.phases()).toEqual({ [image]: 'Deleted' })
    expect(proxy.writes()).toEqual(['DeregisterImage'])
    const { items } = await world.client.list<{ metadata: { name: string }; spec: { object: { kind: string } } }>({
      group: 'sojourn.dev',
      version: 'v1alpha1',
      kind: 'Departure',
      plural: 'departures',
      namespaced: true,
    })
    expect(items.map(({ spec }) => spec.object.kind)).toEqual(['image'])
  })

  it('E18: is only read in a dry run', async () => {
    await follow({ dryRun: true })
    await world.pass(8 * hour)
    expect(proxy.writes()).toEqual([])
    expect(proxy.calls.length).toBeGreaterThan(5)
  })

  it('E24: keeps a mark whose deletion is refused, and tries again later', async () => {
    await follow()
    proxy.fault = (action) =>
      action === 'DeregisterImage' ? { status: 400, code: 'DependencyViolation', message: 'in use' } : undefined
    await world.pass(7 * hour)
    const [refused] = await world.candidates()
    expect(refused?.status).toMatchObject({ phase: 'Failed', message: expect.stringContaining('in use') })
    const tries = proxy.calls.filter(({ action }) => action === 'DeregisterImage').length
    expect(tries).toBeGreaterThan(1)
    expect(tries).toBeLessThan(10)
    proxy.fault = () => undefined
    await world.pass(4 * hour)
    expect(await world.phases()).toEqual({ [image]: 'Deleted' })
    expect(deregistrations()).toBe(1)
  })

  it('E12: keeps everything while its clock and AWS’s are more than five minutes apart', async () => {
    await follow()
    await world.pass(minute)
    proxy.now = () => world.clock.now() - 6 * minute
    await world.pass(8 * hour)
    expect(await world.phases()).toEqual({ [image]: 'Notified' })
    proxy.now = () => world.clock.now() - 4 * minute
    await world.pass(hour)
    expect(await world.phases()).toEqual({ [image]: 'Deleted' })
  })

  it('E9: is not changed while its listing fails', async () => {
    await follow()
    await world.pass(minute)
    proxy.fault = (action) => (action === 'DescribeImages' ? { status: 403, code: 'UnauthorizedOperation' } : undefined)
    await world.pass(8 * hour)
    expect(await world.phases()).toEqual({ [image]: 'Notified' })
    expect(deregistrations()).toBe(0)
  })

  it('tells owners what a volume costs, and keeps one that a PersistentVolume names', async () => {
    await using mail = await startMailSink()
    const smtp = { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org' }
    await world.channel('mail', { type: 'smtp', smtp })
    const ec2 = new EC2Client({ region, endpoint: moto.url, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })
    const volume = async (name: string) => {
      const Tags = [
        { Key: 'Name', Value: name },
        { Key: 'owner', Value: 'ann@example.org' },
      ]
      const TagSpecifications = [{ ResourceType: 'volume' as const, Tags }]
      const { VolumeId = '' } = await ec2.send(
        new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 100, VolumeType: 'gp3', TagSpecifications }),
      )
      return VolumeId
    }
    const [idle, claimed] = [await volume('web-data'), await volume('of-a-claim')]
    await world.create({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'data' },
      spec: {
        capacity: { storage: '100Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'ebs.csi.aws.com', volumeHandle: claimed },
      },
    })
    await world.pass(2 * hour)
    await follow({
      targets: [{ aws: { accounts: ['main'], resourceTypes: ['volume'] } }],
      rules: [{ rules: [{ name: 'Unused' }] }],
      notification: { channels: ['mail'] },
    })
    await world.pass(minute)
    expect(await world.phases()).toEqual({ [idle]: 'Notified' })
    const [notice] = mail.mails
    expect(plain(notice?.text ?? '')).toContain('web-data, 100 GiB gp3, about 8.80 USD a month')
    const [link = ''] = /\/janitor\/opt-out\/\S+/.exec(plain(notice?.text ?? '')) ?? []
    expect(String((await world.call('GET', link)).body)).toContain('web-data, 100 GiB gp3, about 8.80 USD a month')
    await picture(notice?.text ?? '')
    await world.pass(8 * hour)
    expect(await world.phases()).toEqual({ [idle]: 'Deleted' })
    expect(proxy.writes()).toEqual(['DeleteVolume'])
  })

  /** Renders a mail to SOJOURN_SCREENSHOTS, if that is set: docs/guide shows one. */
  async function picture(message: string): Promise<void> {
    const folder = process.env['SOJOURN_SCREENSHOTS']
    if (!folder) return
    const part = message.slice(
      message.indexOf('<!doctype html') >= 0 ? message.indexOf('<!doctype html') : message.indexOf('<html'),
    )
    const html = part
      .slice(0, part.indexOf('</html>') + 7)
      .replaceAll(/=\r?\n/g, '')
      .replaceAll(/(?:=[0-9A-F]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8'))
    const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
    await using browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    const page = await browser.newPage({ viewport: { width: 680, height: 400 } })
    await page.setContent(html)
    await page.screenshot({ path: join(folder, 'janitor-mail.png'), fullPage: true })
  }

  /** A mail without the line breaks of quoted-printable. */
  function plain(message: string): string {
    return message.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')
  }

  it('carries the tag never while opted out', async () => {
    await follow()
    await world.pass(minute)
    await world.call('PUT', `/resources/state/aws:main:${region}:image/${image}/optOut`, {
      user: { name: 'ann', groups: [] },
    })
    await world.pass(8 * hour)
    expect(await world.phases()).toEqual({ [image]: 'OptedOut' })
    expect(proxy.writes()).toEqual(['CreateTags'])
  })
})
