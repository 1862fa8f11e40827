import { join } from 'node:path'
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from './janitor-world.ts'
import { startMailSink, type MailSink } from './sinks.ts'

const browserPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const missing = existsSync(browserPath) ? undefined : `there is no ${browserPath}`
if (missing) console.warn(`\n*** Tests that need a browser are SKIPPED: ${missing}\n`)

const hour = 3_600_000
const minute = 60_000

describe.skipIf(missing)('the link in a mail', () => {
  let world: JanitorWorld
  let mail: MailSink
  let server: Server

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')))
      request.on('end', () => {
        void world.call(request.method ?? 'GET', request.url ?? '/', { body }).then(
          (answer) => response.writeHead(answer.status, answer.headers).end(String(answer.body)),
          () => response.writeHead(404).end(),
        )
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    world = await startJanitorWorld({ janitor: { publicUrl: () => `http://127.0.0.1:${port}` } })
    mail = await startMailSink()
    await world.channel('mail', {
      type: 'smtp',
      smtp: { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org' },
    })
    await world.configMap('kept', { annotations: { owner: 'ann@example.org' } })
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(minute)
  })
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
    await mail?.[Symbol.asyncDispose]()
    await new Promise((resolve) => server.close(resolve))
  })

  it('opens a page with a button, and the button keeps the resource', async () => {
    const text = (mail.mails[0]?.text ?? '').replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')
    const url = /Keep it: (\S+)/.exec(text)?.[1] ?? ''
    await using browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    await page.goto(url)
    expect(await page.textContent('h1')).toBe('Keep ConfigMap team/kept?')
    if (process.env['SOJOURN_SCREENSHOTS'])
      await page.screenshot({ path: join(process.env['SOJOURN_SCREENSHOTS'], 'opt-out-page.png') })
    await world.pass(minute)
    expect(await world.phases()).toEqual({ kept: 'Notified' })
    await page.fill('#reason', 'still needed')
    await page.click('button')
    expect(await page.textContent('h1')).toBe('ConfigMap team/kept will be kept')
    await world.pass(minute)
    expect(await world.phases()).toEqual({ kept: 'OptedOut' })
    expect(errors.filter((error) => !error.includes('favicon'))).toEqual([])
  })
})
