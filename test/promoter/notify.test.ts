import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ResponseCache } from '../../src/forges/forge-api.ts'
import { performEffect, type EffectPorts } from '../../src/systems/promoter/effects/perform.ts'
import { RateLimiter } from '../../src/forges/rate-limiter.ts'
import { verifySignature } from '../../src/systems/promoter/http/signature.ts'
import { environments, pipelineOf, World } from './world.ts'
import { makeCertificates } from '../forge/certificates.ts'
import { localNetwork } from '../local-network.ts'

interface Received {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer
}

const certificates = makeCertificates()
const { http, connect, close } = localNetwork()
const received: Received[] = []
let status = 202
const handler = (request: IncomingMessage, response: ServerResponse) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    received.push({
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks),
    })
    response.writeHead(status).end()
  })
}
const secure = createServer(certificates, handler)
const plain = createPlainServer(handler)
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port

beforeAll(async () => {
  for (const server of [secure, plain]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
beforeEach(() => {
  received.length = 0
  status = 202
})
afterAll(() => {
  close()
  secure.close()
  plain.close()
})

const events: unknown[] = []

const limiterOf = (world: World) => new RateLimiter({ now: () => world.now })

function run(world: World, secret?: Record<string, string>, given: { namespace?: string; limiter?: RateLimiter } = {}) {
  const { namespace = 'team', limiter = limiterOf(world) } = given
  const pipeline = { ...world.pipeline, metadata: { ...world.pipeline.metadata, namespace } }
  const ports: EffectPorts = {
    http,
    connect,
    rateLimiter: limiter,
    countRequest: () => undefined,
    responseCache: new ResponseCache(),
    readSecret: () => Promise.resolve(secret),
    createEvent: (event) => Promise.resolve(void events.push(event)),
    flux: { eventsAddress: `http://127.0.0.1:${portOf(plain)}/`, http },
    now: () => world.now,
    valueOf: (_, revision) => revision,
    jobProblem: () => Promise.resolve(undefined),
  }
  const { effect } = world.step()
  if (!effect) throw new Error('nothing is due')
  return { effect, result: performEffect(effect, pipeline, { ports, signal: new AbortController().signal }) }
}

function worldOf(strategy: 'notification' | 'webhook'): World {
  const url = `https://127.0.0.1:${portOf(secure)}/hook?b=2&a=1`
  const chosen = strategy === 'webhook' ? { webhook: { url, secretRef: { name: 'hook' } } } : { notification: {} }
  const world = new World(pipelineOf({ environments: environments('dev', 'prod'), promotion: { strategy: chosen } }))
  world.runs({ dev: '1.1.0', prod: '1.0.0' })
  return world
}

describe('a notification', () => {
  it("C57: goes to the cluster and to Flux, with the promotion's id", async () => {
    const { effect, result } = run(worldOf('notification'))
    expect(await result).toEqual({ result: 'notified' })
    expect(JSON.parse(received[0]!.body.toString())).toMatchObject({
      severity: 'info',
      reason: 'Promote',
      message: 'Promote pipeline team/app to prod with version 1.1.0',
      involvedObject: { kind: 'Pipeline', name: 'app' },
      metadata: { environment: 'prod', version: '1.1.0', 'sojourn.dev/promotion-id': effect.promotion.id },
    })
    expect(events.at(-1)).toMatchObject({ metadata: { name: `app.${effect.promotion.id}` } })
  })

  it('that Flux cannot take now is tried again; one it has heard lately is done', async () => {
    status = 503
    expect(await run(worldOf('notification')).result).toMatchObject({ result: 'failed', error: { class: 'Transient' } })
    status = 429
    expect(await run(worldOf('notification')).result).toEqual({ result: 'notified' })
  })
})

describe('a webhook', () => {
  const secret = { token: 't0ken', 'hmac-key': 'k', caFile: certificates.ca }

  it("gets a signed CloudEvent whose id is the promotion's", async () => {
    const world = worldOf('webhook')
    const { effect, result } = run(world, secret)
    expect(await result).toEqual({ result: 'notified' })
    const [{ path, headers, body } = received[0]!] = received
    expect(headers).toMatchObject({ 'content-type': 'application/cloudevents+json', authorization: 'Bearer t0ken' })
    expect(JSON.parse(body.toString())).toMatchObject({
      specversion: '1.0',
      id: effect.promotion.id,
      subject: 'prod',
      data: { revision: '1.1.0', fromRevision: '1.0.0' },
    })
    const verdict = verifySignature({ method: 'POST', path, body }, headers['sojourn-signature'], {
      keys: { current: 'k' },
      now: world.now,
    })
    expect(verdict).toMatchObject({ keyId: 'current' })
  })

  it('133: is not held back by what the host answered to another namespace, whose Secret has the same name', async () => {
    const limiter = limiterOf(worldOf('webhook'))
    status = 429
    const other = run(worldOf('webhook'), secret, { namespace: 'other', limiter })
    expect(await other.result).toMatchObject({ result: 'failed', error: { class: 'RateLimited' } })
    status = 202
    expect(await run(worldOf('webhook'), secret, { limiter }).result).toEqual({ result: 'notified' })
  })

  it.each([
    [500, 'Transient'],
    [409, 'Transient'],
    [429, 'RateLimited'],
    [401, 'Permanent'],
    [404, 'Permanent'],
  ])('that answers %i is a failure that is %s', async (answer, kind) => {
    status = answer
    expect(await run(worldOf('webhook'), secret).result).toMatchObject({ result: 'failed', error: { class: kind } })
  })
})
