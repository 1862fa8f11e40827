import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/app/config/config.ts'
import { startUp, type Up } from '../../src/app/embedded/up.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'

let up: Up
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'rights-'))
  up = await startUp(
    readConfig({ flags: { data: directory, port: '0', 'proxy-port': '0', only: 'api,promoter' }, env: {} }),
    silentLogger,
  )
})
afterAll(async () => {
  await up.stop()
  rmSync(directory, { recursive: true })
})

function tokenOf(user: string): string {
  const line = readFileSync(join(directory, 'pki', 'tokens.csv'), 'utf8')
    .split('\n')
    .find((candidate) => candidate.includes(user))
  return line?.split(',')[0] ?? ''
}

/** What somebody with this token is told when they approve a promotion. */
function approveAs(token: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${up.api}/v1/namespaces/default/pipelines/shop/environments/prod/approvals`,
      {
        method: 'POST',
        rejectUnauthorized: false,
        agent: false,
        headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      },
      (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify({ revision: '1.0.0', promotionId: 'x' }))
  })
}

describe('an approval by somebody who has signed in', () => {
  it('is refused from a viewer, who may not change pipelines', async () =>
    expect(await approveAs(tokenOf('sojourn:viewer'))).toBe(401))
  it('is refused from nobody', async () => expect(await approveAs(undefined)).toBe(401))
  it('gets as far as the pipeline from an administrator', async () =>
    expect(await approveAs(tokenOf('system:admin'))).toBe(422))
})
