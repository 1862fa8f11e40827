import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commitOf, idOf, parseCommit, parseTree, treeOf, type GitObject } from './objects.ts'
import { readPack, writePack } from './pack.ts'

const blob = (text: string): GitObject => ({ type: 'blob', content: Buffer.from(text) })

/** A pack of entries given as they stand on the wire. */
function packOf(...entries: Buffer[]): Buffer {
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  header.writeUInt32BE(entries.length, 8)
  const body = Buffer.concat([header, ...entries])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}

const entry = (kind: number, content: Buffer, before = Buffer.alloc(0)) =>
  Buffer.concat([Buffer.from([(kind << 4) | (content.length & 15)]), before, deflateSync(content)])

const mib = 1024 * 1024

/** An empty object and deltas, each of the one before. */
function chain(delta: readonly number[], length: number): Buffer[] {
  const entries = [entry(3, Buffer.alloc(0))]
  for (let at = 0; at < length; at++)
    entries.push(entry(6, Buffer.from(delta), Buffer.from([entries.at(-1)?.length ?? 0])))
  return entries
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 0x80, ...varint(Math.floor(value / 128))]
}

function ofCount(count: number): Buffer {
  const pack = packOf()
  pack.writeUInt32BE(count, 8)
  return pack
}

describe('a pack', () => {
  it('holds what was put in, whatever its size', async () => {
    const sizes = [0, 1, 15, 16, 2047, 2048, 70_000]
    const objects = sizes.map((size) => blob('x'.repeat(size)))
    const store = await readPack(writePack(objects))
    expect([...store.keys()].toSorted()).toEqual(objects.map(idOf).toSorted())
  })

  it('is read with its deltas undone, the base before or after, by place or by id', async () => {
    const base = blob('hello world')
    // Sizes 11 and 15; copy 6 bytes from 0; insert "brave "; copy… the last three come by insertion.
    const delta = Buffer.concat([
      Buffer.from([11, 15, 0x90, 6, 6]),
      Buffer.from('brave '),
      Buffer.from([3]),
      Buffer.from('new'),
    ])
    const wanted = idOf(blob('hello brave new'))
    const first = entry(3, base.content)
    const byPlace = await readPack(packOf(first, entry(6, delta, Buffer.from([first.length]))))
    expect(byPlace.has(wanted)).toBe(true)
    const byId = await readPack(packOf(entry(7, delta, Buffer.from(idOf(base), 'hex')), first))
    expect(byId.has(wanted)).toBe(true)
  })

  it('is refused when it is damaged, cut, or lacks a base', async () => {
    const pack = writePack([blob('content')])
    const damaged = Buffer.from(pack)
    damaged[14]! ^= 1
    await expect(readPack(damaged)).rejects.toThrow('damaged')
    await expect(readPack(pack.subarray(0, -3))).rejects.toThrow()
    await expect(readPack(Buffer.from('<html>'.repeat(20)))).rejects.toThrow('did not send a pack')
    const orphan = entry(7, Buffer.from([0, 0]), Buffer.alloc(20))
    await expect(readPack(packOf(orphan))).rejects.toThrow('has no base')
  })

  it.each([
    ['an object of more than 16 MiB', () => packOf(entry(3, Buffer.alloc(16 * mib + 1))), 'bytes'],
    ['a delta that makes one', () => packOf(...chain([0, ...varint(16 * mib + 1)], 1)), 'bytes'],
    ['51 deltas in a row', () => packOf(...chain([0, 0], 51)), 'depth'],
    [
      'more than 256 MiB in all',
      () => packOf(...Array.from({ length: 17 }, () => entry(3, Buffer.alloc(15.5 * mib)))),
      'bytes',
    ],
    ['more than 100,000 objects', () => ofCount(100_001), 'nodes'],
  ])('is refused with %s', async (_, pack, because) => {
    await expect(readPack(pack())).rejects.toMatchObject({ name: 'ParseRefusal', because })
  })

  it('never makes anything but an error out of noise', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (noise) => {
        await readPack(packOf(Buffer.from(noise))).catch((error: unknown) => expect(error).toBeInstanceOf(Error))
      }),
    )
  })
})

it('knows objects by the ids git gives them', () => {
  expect(idOf(blob('what is up, doc?'))).toBe('bd9dbf5aae1a3862dd1526723246b20206e5fc37')
  const tree = treeOf([{ mode: '100644', name: 'a', id: idOf(blob('')) }])
  expect(parseTree(tree.content)).toEqual([
    { mode: '100644', name: 'a', id: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391' },
  ])
})

it('makes a commit that no name can break', () => {
  const commit = commitOf(
    { tree: 'f'.repeat(40), parents: [], message: 'm\n' },
    { name: 'Eve <eve>\nparent x', email: 'a>b', atMs: 1500 },
  )
  expect(commit.content.toString()).toBe(
    `tree ${'f'.repeat(40)}\nauthor Eve  eve  parent x <a b> 1 +0000\ncommitter Eve  eve  parent x <a b> 1 +0000\n\nm\n`,
  )
  expect(parseCommit(commit.content)).toEqual({ tree: 'f'.repeat(40), parents: [], message: 'm\n' })
})
