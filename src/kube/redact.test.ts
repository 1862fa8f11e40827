import { describe, expect, it } from 'vitest'
import type { KubeObject } from './object.ts'
import { evaluatedView, publicText, publicView, SecretValues } from './redact.ts'

const secret = (value: string, overrides: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'forge',
    namespace: 'team',
    labels: { app: 'shop' },
    annotations: { note: value },
    managedFields: [{}],
  },
  type: 'Opaque',
  data: { password: Buffer.from(value).toString('base64') },
  stringData: { password: value },
  ...overrides,
})

describe('what may be shown of an object', () => {
  it('of a Secret is its metadata and type', () => {
    const view = publicView(secret('hunter22'))
    expect(view).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'forge', namespace: 'team', labels: { app: 'shop' } },
      type: 'Opaque',
    })
    expect(evaluatedView(secret('hunter22'))).toEqual(view)
    expect(evaluatedView(secret('hunter22', { kind: 'secret' }))).not.toHaveProperty('data')
  })

  it('repeats neither managed fields, nor the last applied manifest, nor long annotations', () => {
    const annotations = {
      'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"hunter22"}}',
      long: 'x'.repeat(1025),
      short: 'kept',
    }
    const view = publicView({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', annotations, managedFields: [{}] },
    })
    expect(view.metadata).toEqual({ name: 'a', annotations: { short: 'kept' } })
  })

  it('hides values of environment variables, wherever a Pod is described, and credentials in URLs', () => {
    const container = {
      name: 'c',
      env: [
        { name: 'TOKEN', value: 'hunter22' },
        { name: 'A', valueFrom: { fieldRef: {} } },
      ],
    }
    const spec = {
      template: { spec: { containers: [container] } },
      url: 'https://jo:hunter22@git.example.org/a?token=hunter22',
    }
    const view = publicView({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec })
    expect(JSON.stringify(view)).not.toContain('hunter22')
    expect(view.spec).toMatchObject({
      template: { spec: { containers: [{ env: [{ name: 'TOKEN', value: '<redacted>' }, { name: 'A' }] }] } },
      url: 'https://git.example.org/a',
    })
  })
})

describe('what may be shown of a text', () => {
  const values = new SecretValues()
  values.add(secret('hunter22\nsecond-line'))

  it.each([
    ['as it is', 'login failed for hunter22'],
    ['of another line', 'login failed for second-line'],
    ['in base64', `got ${Buffer.from('hunter22').toString('base64')}`],
    ['in base64url', `got ${Buffer.from('hunter22').toString('base64url')}`],
    ['in a header', 'sent authorization: Bearer abcdefgh'],
    ['in a URL', 'cannot reach https://jo:pa55@git.example.org/shop.git?access_token=pa55'],
    ['in PEM', 'read -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----'],
    ['in a JWT', 'token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc was refused'],
    ['of a forge', 'ghp_abcdefghijklmnopqrstuvwxyz0123456789 was refused'],
  ])('has no secret %s', (_, text) => {
    const shown = publicText(text, values)
    expect(shown).not.toMatch(/hunter22|second-line|aHVudGVyMjI|abcdefgh|pa55|PRIVATE KEY|eyJ|ghp_/)
  })

  it('has no control characters and a bounded length', () => {
    expect(publicText('a\r\nb\u0000c')).toBe('a b c')
    expect(publicText('db-\u202egpj.exe\u2066x\u009b31m')).toBe('db- gpj.exe x 31m')
    expect(Buffer.byteLength(publicText('ä'.repeat(2000)))).toBeLessThanOrEqual(1024)
  })

  it('is otherwise as it was', () => {
    const text = 'ConfigMap team/settings: 12 of 30 days, see https://example.org/docs'
    expect(publicText(text, values)).toBe(text)
  })
})
