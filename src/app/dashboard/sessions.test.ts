import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { OneTimeCodes } from './one-time-codes.ts'
import { Seal } from '../../runtime/sharing/seal.ts'
import { Sessions, type Identity, type SessionRequest } from './sessions.ts'

const page = { host: 'sojourn.test', 'sec-fetch-site': 'same-origin' }
const hour = 3_600_000
const abc = { token: 'abc', name: 'ada' }

function startedAt(now: number) {
  const clock = { time: now, now: () => clock.time }
  const sessions = new Sessions({ seal: new Seal(randomBytes(32)), clock })
  const started = sessions.start({ method: 'POST', headers: page }, { identity: abc })
  if (!started) throw new Error('not started')
  const cookie = cookieHeader(started.cookies)
  const headers = { ...page, cookie, 'x-sojourn-session': started.secret }
  const find = (changed: SessionRequest['headers'] = {}, method = 'POST') =>
    sessions.find({ method, headers: { ...headers, ...changed } })
  return { clock, sessions, cookies: started.cookies, headers, find }
}

const cookieHeader = (cookies: readonly string[]) =>
  cookies
    .map((cookie) => cookie.split(';')[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ')

describe('sessions', () => {
  it('gives scripts, other sites and plain HTTP no cookie, and no one a readable token', () => {
    const { cookies } = startedAt(0)
    for (const cookie of cookies) {
      expect(cookie).toMatch(/^__Host-sojourn-443\.\d=/)
      expect(cookie).toContain('; Path=/; Secure; HttpOnly; SameSite=Strict')
      expect(cookie).not.toMatch(/domain/i)
    }
    expect(Buffer.from(cookies[0]?.split(/[=;]/)[1] ?? '', 'base64url').toString('latin1')).not.toContain('abc')
  })

  it('accepts the cookie only with its secret, also for reads', () => {
    const { find } = startedAt(0)
    expect(find()).toEqual(abc)
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
      for (const secret of [undefined, '', 'x', ['x', 'y']])
        expect([method, find({ 'x-sojourn-session': secret }, method)]).toEqual([method, undefined])
  })

  it('refuses changes that a page of another origin sends', () => {
    const { find } = startedAt(0)
    for (const site of ['cross-site', 'same-site', 'none']) expect(find({ 'sec-fetch-site': site })).toBeUndefined()
    const without = { 'sec-fetch-site': undefined }
    expect(find({ ...without, origin: 'https://other.test' })).toBeUndefined()
    expect(find({ ...without, origin: 'https://sojourn.test:8443' })).toBeUndefined()
    expect(find({ ...without, origin: 'null' })).toBeUndefined()
    expect(find(without)).toBeUndefined()
    expect(find({ ...without, origin: 'https://sojourn.test' })).toEqual(abc)
  })

  it('ends after an hour without a refresh', async () => {
    const { clock, sessions, headers, find } = startedAt(0)
    clock.time = hour
    const cookie = cookieHeader((await sessions.refresh({ method: 'POST', headers })) ?? [])
    clock.time = hour + 1
    expect(find()).toBeUndefined()
    expect(find({ cookie })).toEqual(abc)
  })

  it('ends after twelve hours whatever its refreshes', async () => {
    const { clock, sessions, headers, find } = startedAt(0)
    let { cookie } = headers
    for (clock.time = 0; clock.time < 12 * hour; clock.time += hour)
      cookie = cookieHeader((await sessions.refresh({ method: 'POST', headers: { ...headers, cookie } })) ?? [])
    expect(find({ cookie })).toEqual(abc)
    clock.time++
    expect(find({ cookie })).toBeUndefined()
  })

  it('ends when the provider renews it for another user', async () => {
    const clock = { time: 0, now: () => clock.time }
    const grant = { expiresAt: hour, refreshToken: 'r' }
    const identities: Identity[] = [
      { user: 'ada', groups: ['x'] },
      { user: 'bob', groups: [] },
    ]
    const renew = () => Promise.resolve({ identity: identities.shift()!, grant })
    const sessions = new Sessions({ seal: new Seal(randomBytes(32)), clock, renew })
    const request = { method: 'POST', headers: page }
    const started = sessions.start(request, { identity: { user: 'ada', groups: [] }, grant })!
    const headers = { ...page, cookie: cookieHeader(started.cookies), 'x-sojourn-session': started.secret }
    clock.time = hour - 1
    expect(await sessions.refresh({ method: 'POST', headers })).toHaveLength(3)
    expect(await sessions.refresh({ method: 'POST', headers })).toBeUndefined()
  })

  it('opens nothing altered, or sealed with another key or for another purpose', () => {
    const [former, key] = [randomBytes(32), randomBytes(32)]
    const sealed = new Seal(former).seal('session', { a: 1 })
    expect(new Seal(former).open('session', sealed)).toEqual({ a: 1 })
    expect(new Seal(key).open('session', sealed)).toBeUndefined()
    expect(new Seal(former).open('login', sealed)).toBeUndefined()
    expect(new Seal(former).open('session', `${sealed.slice(0, -2)}AA`)).toBeUndefined()
    for (const text of ['', 'x', '%%']) expect(new Seal(former).open('session', text)).toBeUndefined()
  })

  it('spreads a large identity over cookies, and refuses one that needs too many', () => {
    const sessions = new Sessions({ seal: new Seal(randomBytes(32)), clock: { now: () => 0 } })
    const large = { token: randomBytes(5000).toString('hex'), name: 'ada' }
    const started = sessions.start({ method: 'POST', headers: page }, { identity: large })
    const cookie = cookieHeader(started?.cookies ?? [])
    expect(cookie.split('; ').length).toBeGreaterThan(1)
    for (const each of started?.cookies ?? []) expect(each.length).toBeLessThan(4096)
    const headers = { ...page, cookie, 'x-sojourn-session': started?.secret ?? '' }
    expect(sessions.find({ method: 'GET', headers })).toEqual(large)
    const tooLarge = { token: randomBytes(12_000).toString('base64'), name: 'ada' }
    expect(sessions.start({ method: 'POST', headers: page }, { identity: tooLarge })).toBeUndefined()
  })
})

describe('one-time codes', () => {
  it('work once, and only within their time', () => {
    const clock = { time: 0, now: () => clock.time }
    const codes = new OneTimeCodes(clock)
    const [used, late] = [codes.make('abc', 1000), codes.make('abc', 1000)]
    expect(codes.use(used)).toBe('abc')
    expect(codes.use(used)).toBeUndefined()
    clock.time = 1000
    expect(codes.use(late)).toBeUndefined()
    expect(codes.use('')).toBeUndefined()
  })
})
