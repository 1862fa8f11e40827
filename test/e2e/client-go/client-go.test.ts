import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildGo, whyNoGo } from '../../../scripts/reference-cluster/go-build.ts'
import { toolsDirectory } from '../../../scripts/reference-cluster/tools.ts'
import { startTestServer, type TestServer } from '../../apiserver/test-server.ts'
import { systemClock } from '../../../src/runtime/time/clock.ts'

const module = join(import.meta.dirname, 'program')
const source = ['main.go', 'go.mod'].map((file) => readFileSync(join(module, file)))
const digest = createHash('sha256').update(Buffer.concat(source)).digest('hex').slice(0, 12)
const program = join(toolsDirectory, `client-go-${digest}`)

const missing = existsSync(program) ? undefined : await whyNoGo(module)
if (missing) console.warn(`SKIPPED: client-go: ${missing}`)

describe.skipIf(missing)('a client-go program', () => {
  let server: TestServer
  let directory: string
  let kubeconfig: string
  beforeAll(async () => {
    if (!existsSync(program)) await buildGo({ module, package: '.', output: program, ldflags: '-s -w' })
    server = await startTestServer({ clock: systemClock })
    directory = mkdtempSync(join(tmpdir(), 'sojourn-client-go-'))
    kubeconfig = join(directory, 'kubeconfig')
    const { url } = await server.listen({ port: 0 })
    writeFileSync(kubeconfig, server.kubeconfig(url), { mode: 0o600 })
  }, 900_000)
  afterAll(async () => {
    await server?.close()
    if (directory) rmSync(directory, { recursive: true, force: true })
  })

  it.each([
    ['streams its first lists', 'streamed', 'true'],
    ['lists and then watches', 'listed', 'false'],
  ])(
    '%s: informers, typed and metadata clients, apply, pages, leader election',
    async (_, namespace, watchList) => {
      const env = { ...process.env, KUBE_FEATURE_WatchListClient: watchList }
      const { stdout } = await promisify(execFile)(program, [kubeconfig, namespace], { env, timeout: 60_000 })
      expect(stdout.trim().split('\n')).toEqual(
        [
          'conflict',
          'already exists',
          'delete precondition',
          'not found',
          'invalid',
          'informer synced',
          'informer events',
          'informer version',
          'metadata informer synced',
          'metadata informer events',
          'dynamic watch',
          'old watch',
          'too large resource version',
          'apply conflict',
          'extract applied',
          'paging',
          'leader first',
          'leader second',
        ].map((promise) => `ok: ${promise}`),
      )
    },
    60_000,
  )
})
