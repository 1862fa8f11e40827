import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { RecordKeys } from './record-keys.ts'

const secret = (data: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'sojourn-record-keys', namespace: 'sojourn-system' },
  data,
})
const raw = () => randomBytes(32).toString('base64')
/** As `kubectl create secret generic --from-literal=NAME=$(openssl rand -base64 32)` stores it. */
const literal = () => btoa(`${raw()}\n`)

const password: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'password', namespace: 'team', uid: 'u1' },
  data: { password: btoa('open sesame') },
}
const lineOf = (object: KubeObject, uid = object.metadata.uid ?? '') => ({ uid, manifest: object })

describe('keys of records', () => {
  it.each([
    ['32 bytes', raw()],
    ['their base64', literal()],
  ])('are %s', (_, key) => {
    const keys = new RecordKeys(secret({ a: key }))
    const sealed = keys.seal(password)!
    expect(JSON.stringify(sealed)).not.toContain(btoa('open sesame'))
    expect(keys.open(sealed, lineOf(password))).toEqual(password.data)
  })

  it('encrypt with the last name, and decrypt with every one that is still there', () => {
    const [first, second] = [literal(), literal()]
    const old = new RecordKeys(secret({ '2026-01': first })).seal(password)!
    const both = new RecordKeys(secret({ '2026-02': second, '2026-01': first }))
    expect(both.seal(password)?.key).toBe('2026-02')
    expect(both.open(old, lineOf(password))).toEqual(password.data)
    const onlyNew = new RecordKeys(secret({ '2026-02': second }))
    expect(() => onlyNew.open(old, lineOf(password))).toThrow('no longer has the key "2026-01"')
  })

  it.each([
    ['name', { ...password.metadata, name: 'mine' }, 'u1'],
    ['namespace', { ...password.metadata, namespace: 'mine' }, 'u1'],
    ['uid', password.metadata, 'u2'],
  ])('open nothing for an object of another %s', (_, metadata, uid) => {
    const keys = new RecordKeys(secret({ a: raw() }))
    const sealed = keys.seal(password)!
    expect(() => keys.open(sealed, lineOf({ ...password, metadata }, uid))).toThrow('belongs to another Secret')
  })

  it('seal the same data differently each time', () => {
    const keys = new RecordKeys(secret({ a: raw() }))
    expect(keys.seal(password)?.data).not.toBe(keys.seal(password)?.data)
  })

  it('seal nothing but Secrets with data, and no token that Kubernetes issues again', () => {
    const keys = new RecordKeys(secret({ a: raw() }))
    expect(keys.seal({ ...password, kind: 'ConfigMap' })).toBeUndefined()
    expect(keys.seal({ ...password, data: undefined })).toBeUndefined()
    expect(keys.seal({ ...password, type: 'kubernetes.io/service-account-token' })).toBeUndefined()
  })

  it.each([
    ['no Secret', undefined, 'does not exist'],
    ['no entry', secret({}), 'has no key'],
    ['a short key', secret({ a: btoa('short') }), 'entry "a" of Secret sojourn-system/sojourn-record-keys is no key'],
  ])('are refused with %s, without a word of the value', (_, given, message) => {
    expect(() => new RecordKeys(given)).toThrow(message)
    expect(() => new RecordKeys(given)).not.toThrow(/short/)
  })
})
