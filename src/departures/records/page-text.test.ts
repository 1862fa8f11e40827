import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { read } from './page-text.ts'

const page = (text: string) => gzipSync(text).toString('base64')
const mib = 1024 * 1024

describe('the text of a page', () => {
  it('has one object per line', () => {
    const line = { uid: 'u', manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } } }
    expect(read(page(`${JSON.stringify(line)}\n${JSON.stringify(line)}\n`))).toEqual([line, line])
  })

  it.each([
    ['88: a gzip bomb', page(' '.repeat(64 * mib)), 'bytes'],
    [
      '89: many members that are small each',
      Buffer.concat(Array.from({ length: 20 }, () => gzipSync(' '.repeat(mib)))).toString('base64'),
      'bytes',
    ],
    ['brackets', page('['.repeat(20_000)), 'syntax'],
    ['deep lists', page('['.repeat(2000) + ']'.repeat(2000)), 'depth'],
    ['many values', page(`[${'0,'.repeat(300_000)}0]`), 'nodes'],
    ['no gzip', 'bm90IGd6aXA=', 'syntax'],
    ['no JSON', page('{"uid":'), 'syntax'],
  ])('refuses %s', (_, manifests, because) => {
    expect(() => read(manifests)).toThrow(expect.objectContaining({ name: 'ParseRefusal', because }))
  })
})
