import { configMaps } from '../../src/kube/core-types.ts'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CreateTagsCommand, DescribeImagesCommand, EC2Client, RegisterImageCommand } from '@aws-sdk/client-ec2'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'
import { startMoto, whyNoMoto, type Moto } from './moto.ts'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { startProduct, temporaryFolder, type Product } from './product.ts'
import { startMailSink, type MailSink } from './sinks.ts'

const browserPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const missing = (await whyNoMoto()) ?? (existsSync(browserPath) ? undefined : `there is no ${browserPath}`)
if (missing) console.warn(`\n*** Tests of the whole product with AWS and a browser are SKIPPED: ${missing}\n`)

const region = 'eu-west-1'

/** The product as people run it, in real time: a cluster, `sojourn run` beside it, mails, a browser, and a pretended AWS. */
describe.skipIf(missing)('sojourn run', () => {
  const folder = temporaryFolder()
  let moto: Moto
  let proxy: FaultProxy
  let mail: MailSink
  let cluster: Product
  let client: Client
  let browser: Browser
  let token: string

  beforeAll(async () => {
    moto = await startMoto()
    proxy = await startFaultProxy(moto.url)
    mail = await startMailSink()
    cluster = await startProduct(['up', '--only', 'api', '--data', folder.path, '--port', '0'])
    const kubeconfig = loadKubeconfig([cluster.facts.kubeconfig ?? ''], { now: () => Date.now(), env: {} })
    client = new Client(networkTransport(kubeconfig).transport)
    token = /token: "?([^"\s]+)/.exec(readFileSync(cluster.facts.kubeconfig ?? '', 'utf8'))?.[1] ?? ''
    browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser?.close()
    await cluster?.[Symbol.asyncDispose]()
    await mail?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    await moto?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })
  beforeEach(() => {
    mail.mails.length = 0
  })

  // Notices carry links only to an address that people were told to reach it at.
  const run = async (...words: readonly string[]) => {
    const [port = 0] = await freePorts(1)
    const address = ['--port', String(port), '--public-url', `https://127.0.0.1:${port}`]
    const kubeconfig = cluster.facts.kubeconfig ?? ''
    return startProduct(['run', '--only', 'janitor', '--kubeconfig', kubeconfig, ...address, ...words])
  }

  async function create(manifest: KubeObject): Promise<void> {
    const type = await client.discovery.typeOf(manifest)
    if (!type) throw new Error(`the cluster does not serve ${manifest.kind}`)
    await client.create(type, manifest)
  }

  /** The link to keep a resource, out of the mails so far. */
  function linkFor(name: string): string | undefined {
    const text = mail.mails.map((one) => one.text.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')).join('\n')
    return new RegExp(`${name} \\([^]*?Keep it: (\\S+)`).exec(text)?.[1]
  }

  async function keepInBrowser(link: string): Promise<void> {
    const page: Page = await browser.newPage({ ignoreHTTPSErrors: true })
    await page.goto(link)
    expect(await page.textContent('h1')).toMatch(/^Keep .*\?$/)
    if (process.env['SOJOURN_SCREENSHOTS'])
      await page.screenshot({ path: join(process.env['SOJOURN_SCREENSHOTS'], 'opt-out.png') })
    await page.click('button')
    expect(await page.textContent('h1')).toMatch(/will be kept$/)
    await page.close()
  }

  const phases = async () => {
    const { items } = await client.list<{
      metadata: { name: string }
      spec: { resource: { name: string } }
      status?: { phase?: string }
    }>({
      group: 'sojourn.dev',
      version: 'v1alpha1',
      kind: 'CleanupCandidate',
      plural: 'cleanupcandidates',
      namespaced: false,
    })
    return Object.fromEntries(items.map(({ spec, status }) => [spec.resource.name, status?.phase]))
  }

  it('follows a swabbie.yml: marks, mails, keeps what its owner wants, deletes the rest', async () => {
    const ec2 = new EC2Client({
      region,
      endpoint: moto.url,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    const [kept = '', gone = ''] = await Promise.all(
      ['web-kept', 'web-gone'].map(async (Name) => {
        const { ImageId = '' } = await ec2.send(new RegisterImageCommand({ Name, RootDeviceName: '/dev/sda1' }))
        await ec2.send(
          new CreateTagsCommand({ Resources: [ImageId], Tags: [{ Key: 'owner', Value: 'ann@example.org' }] }),
        )
        return ImageId
      }),
    )
    await create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'aws', namespace: 'sojourn-system' },
      stringData: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    const file = join(folder.path, 'swabbie.yml')
    writeFileSync(
      file,
      `
swabbie:
  dryRun: false
  outOfUseThresholdDays: 0
  minImagesUsedByLC: 0
  minImagesUsedByInst: 0
  queue: {monitorIntervalMs: 1000}
  schedule: {enabled: false}
  testing: {enabled: true, alwaysCleanRuleConfig: {resourceIds: [${gone}]}}
  providers:
    - name: aws
      locations: [${region}]
      accounts: [test]
      resourcesPerNotification: 3
      resourceTypes:
        - name: image
          enabled: true
          retention: 14
          maxAge: 0
          enabledRules: [{rules: [{name: OrphanedImageRule}]}]
          notification: {enabled: true, types: [EMAIL], defaultDestination: ops@example.org}
smtp: {host: 127.0.0.1, port: ${mail.port}, from: janitor@example.org}
accounts: [{name: test, regions: [${region}], secret: aws, endpoint: "${proxy.url}"}]
`,
    )
    await using janitor = await run('--swabbie-config', file)
    await expect.poll(() => linkFor(kept), { timeout: 60_000 }).toBeDefined()
    expect(janitor.printed()).toContain('resourcesPerNotification is ignored: Sojourn has no such setting')
    expect(mail.mails.map(({ to }) => to)).toEqual([['ann@example.org']])
    await keepInBrowser(linkFor(kept) ?? '')
    await expect.poll(phases, { timeout: 30_000 }).toEqual({ [kept]: 'OptedOut', [gone]: 'Notified' })

    const path = `/testing/resources/state/aws:test:${region}:image`
    expect((await ask(janitor, 'DELETE', `${path}/${kept}`)).status).toBe(403)
    expect(proxy.writes()).toEqual(['CreateTags'])
    expect((await ask(janitor, 'DELETE', `${path}/${gone}`)).status).toBe(200)
    await expect.poll(phases, { timeout: 30_000 }).toEqual({ [kept]: 'OptedOut', [gone]: 'Deleted' })
    const { Images = [] } = await ec2.send(new DescribeImagesCommand({ Owners: ['self'] }))
    expect(
      Images.map(({ ImageId, Tags = [] }) => [ImageId, Tags.find(({ Key }) => Key === 'expiration_time')?.Value]),
    ).toEqual([[kept, 'never']])
    expect(proxy.writes()).toEqual(['CreateTags', 'DeregisterImage'])
    const marked = await ask(janitor, 'GET', '/resources/numMarked')
    expect(await marked.json()).toBe(0)
  })

  it('follows a policy of Kubernetes: marks, mails, keeps what its owner wants, deletes the rest after its date', async () => {
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    for (const name of ['kept', 'gone'])
      await create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'team', annotations: { owner: 'bob@example.org' } },
      })
    await create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'NotificationChannel',
      metadata: { name: 'mail' },
      spec: { type: 'smtp', smtp: { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org' } },
    })
    await using janitor = await run()
    await create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'CleanupPolicy',
      metadata: { name: 'tidy' },
      spec: {
        interval: '1s',
        minAge: '0s',
        targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
        rules: [{ rules: [{ name: 'AttributeRule', parameters: { name: ['kept', 'gone'] } }] }],
        retention: { duration: '15s' },
        notification: { channels: ['mail'] },
        limits: { maxDeletePercent: 100 },
      },
    })
    await expect.poll(() => linkFor('team/kept'), { timeout: 60_000 }).toBeDefined()
    expect(linkFor('team/kept')).toContain(janitor.facts.url)
    await keepInBrowser(linkFor('team/kept') ?? '')
    await expect
      .poll(
        async () => (await client.list(configMaps, { namespace: 'team' })).items.map(({ metadata }) => metadata.name),
        {
          timeout: 60_000,
        },
      )
      .not.toContain('gone')
    const { items } = await client.list<KubeObject & { metadata: { name: string } }>(configMaps, { namespace: 'team' })
    const kept = items.find(({ metadata }) => metadata.name === 'kept')
    expect(kept?.metadata.annotations?.['sojourn.dev/expiration-time']).toBe('never')
    await expect.poll(phases, { timeout: 30_000 }).toMatchObject({ kept: 'OptedOut', gone: 'Deleted' })
  })

  it('refuses a swabbie.yml with invalid exclusions', async () => {
    const file = join(folder.path, 'bad.yml')
    writeFileSync(
      file,
      'swabbie: {providers: [{name: aws, locations: [a], accounts: [b], exclusions: [{type: Application, attributes: [{key: name, value: [x]}]}], resourceTypes: [{name: image, enabled: true, enabledRules: [{rules: [{name: OrphanedImageRule}]}]}]}]}\n',
    )
    await expect(run('--swabbie-config', file)).rejects.toThrow('Application exclusions need a block "applications"')
  })

  /** Asks `sojourn run` itself, whose certificate is its own. */
  async function ask(
    janitor: Product,
    method: string,
    path: string,
  ): Promise<{ status: number; json(): Promise<unknown> }> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    try {
      const answer = await context.request.fetch(`${janitor.facts.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      })
      const body: unknown = await answer.json().catch(() => undefined)
      return { status: answer.status(), json: async () => body }
    } finally {
      await context.close()
    }
  }
})
