import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/characters.ts'
import { StatusError } from '../../kube/status-error.ts'
import { createLogger, silentLogger, type LogLevel } from './log.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

function logged({ level, pretty = false }: { level?: LogLevel; pretty?: boolean } = {}) {
  const lines: string[] = []
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678))
  const log = createLogger({ clock, write: (line) => lines.push(line), pretty, ...(level ? { level } : {}) })
  return { log, lines, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

describe('createLogger', () => {
  it('writes one JSON object per line with time, level, message and fields', () => {
    const { log, parsed } = logged()
    log.with({ controller: 'cleaner' }).info('deleted', { because: 'expired' })
    expect(parsed()).toEqual([
      {
        time: '2026-01-02T03:04:05.678000Z',
        level: 'info',
        message: 'deleted',
        controller: 'cleaner',
        because: 'expired',
      },
    ])
  })

  it('leaves out what is less important than its level', () => {
    const { log, lines } = logged({ level: 'error' })
    log.debug('seen')
    log.info('deleted')
    log.error('failed')
    expect(lines).toHaveLength(1)
  })

  it('shows keys as text and failures with reason and cause', () => {
    const { log, parsed } = logged()
    const error = new StatusError('Conflict', 'modified', { cause: new TypeError('boom') })
    log.error('failed', { key: { cluster: '', kind: 'Pod', namespace: 'a', name: 'b' }, error })
    expect(parsed()[0]).toMatchObject({
      key: 'Pod/a/b',
      error: { name: 'StatusError', reason: 'Conflict', message: 'modified', cause: { name: 'TypeError' } },
    })
    expect(JSON.stringify(parsed())).toContain('log.test.ts')
  })

  it.each([
    ['a token', { token: 's3cret' }],
    ['an authorization header', { headers: { authorization: 'Bearer s3cret' } }],
    ['a password deep inside', { config: { smtp: { auth: { smtpPassword: 's3cret' } } } }],
    ['a Secret', { object: { kind: 'Secret', data: { a: 's3cret' }, stringData: { b: 's3cret' } } }],
    ['a kubeconfig', { kubeconfig: 's3cret' }],
    ['an HMAC key', { 'hmac-key': 's3cret' }],
    ['a bearer token in a text', { header: 'sent Bearer s3cret-s3cret' }],
    ['a password in an address', { url: 'https://someone:s3cret@example.com/repo' }],
    ['an incoming webhook', { error: new Error('POST https://hooks.slack.com/services/T0/B0/s3cret failed') }],
  ])('never shows %s', (_, fields) => {
    const { log, lines } = logged()
    log.info('seen', fields)
    expect(lines[0]).not.toContain('s3cret')
    expect(lines[0]).toContain('[hidden]')
  })

  it('never lets a name from outside start a line or steer the terminal', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.boolean(), (name, pretty) => {
        const { log, lines } = logged({ pretty })
        log.info('seen', { name })
        // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
        const rest = (lines[0] ?? '').replaceAll(/\u001b\[\d+m/g, '')
        // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
        expect(rest).not.toMatch(/[\u0000-\u001f]/)
      }),
    )
  })

  it('survives values that point at themselves', () => {
    const { log, lines } = logged()
    const ring: Record<string, unknown> = {}
    ring.self = ring
    log.info('seen', { ring, many: new Map([['a', 1n]]), bytes: new Uint8Array(3) })
    expect(lines[0]).toContain('[3 bytes]')
  })

  it('can say nothing at all', () => {
    silentLogger.with({ a: 1 }).error('failed')
  })
})
