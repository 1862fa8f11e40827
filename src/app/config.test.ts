import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig, roles } from './config.ts'

let directory = ''
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'config-'))))
afterEach(() => rmSync(directory, { recursive: true }))

function file(content: string): string {
  const path = join(directory, 'sojourn.yaml')
  writeFileSync(path, content)
  return path
}

describe('readConfig', () => {
  it('has a default for everything', () => {
    expect(readConfig({ flags: {}, env: {} })).toEqual({
      collectCycles: false,
      data: '.sojourn',
      host: '127.0.0.1',
      port: 7443,
      proxyPort: 7080,
      only: roles,
      dryRun: false,
      logLevel: 'info',
      keepRecordsMs: 30 * 86_400_000,
      durable: true,
    })
  })

  it('takes flags over environment over file', () => {
    const config = file('port: 1\nproxyPort: 2\ndata: from-file\nonly: [api, cleaner]\n')
    const read = readConfig({ flags: { config, port: '3' }, env: { SOJOURN_PORT: '4', SOJOURN_DATA: 'from-env' } })
    expect(read).toMatchObject({ port: 3, proxyPort: 2, data: 'from-env', only: ['api', 'cleaner'] })
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['a port that is none', { port: '70000' }, /--port is "70000": a port is a number from 0 to 65535/],
    ['a role nobody knows', { only: 'cleaner,cook' }, /--only names the role "cook"; there are api, cleaner/],
    ['a duration that is none', { 'keep-records': 'long' }, /--keep-records is "long": a duration looks like/],
    ['a URL that is none', { 'public-url': 'example' }, /--public-url is "example"/],
    ['a level that is none', { 'log-level': 'loud' }, /must be one of debug, info, error/],
    [
      'a file that is not there',
      { config: '/nonexistent/x.yaml' },
      /cannot read the configuration file .*: it does not exist/,
    ],
  ])('says what is wrong with %s', (_, flags, message) => expect(() => readConfig({ flags, env: {} })).toThrow(message))

  it.each([
    ['what is not YAML', 'a: [b', /is not YAML/],
    ['what is not settings', '- a', /must hold settings/],
    ['a setting nobody knows', 'prot: 1', /there is no setting "prot"; there are config, data/],
    ['a bad value, by its place', 'port: many', /sojourn.yaml: port is "many"/],
  ])('refuses a file with %s', (_, content, message) =>
    expect(() => readConfig({ flags: { config: file(content) }, env: {} })).toThrow(message),
  )

  it('names the variable that is wrong', () =>
    expect(() => readConfig({ flags: {}, env: { SOJOURN_DRY_RUN: 'maybe' } })).toThrow(/SOJOURN_DRY_RUN is "maybe"/))
})
