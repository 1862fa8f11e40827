import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isStatusError } from '../../../kube/status-error.ts'
import { decodeProtobuf } from './protobuf.ts'
import { hostileTexts } from '../../../../test/parsing/hostile-texts.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'

interface Sent {
  readonly command: string
  readonly body: string
  readonly object: unknown
}

const sent = recorded<readonly Sent[]>('kubectl-bodies')

describe('decodeProtobuf', () => {
  it.each(sent.map(({ command, body, object }) => [command, body, object] as const))(
    'reads what `kubectl %s` sends',
    (_, body, object) => {
      expect(decodeProtobuf(Buffer.from(body, 'base64'))).toEqual(object)
    },
  )

  it('uses the assumed kind when the body names none', () => {
    const bytes = Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x12, 2, 0x08, 5])
    expect(decodeProtobuf(bytes, { group: '', version: 'v1', kind: 'DeleteOptions' })).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 5,
    })
  })

  it('distinguishes an unset pointer from a zero', () => {
    const options = (raw: readonly number[]) =>
      decodeProtobuf(Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x12, raw.length, ...raw]), deleteOptions)
    expect(options([0x08, 0])).toHaveProperty('gracePeriodSeconds', 0)
    expect(options([])).not.toHaveProperty('gracePeriodSeconds')
  })

  it('reads negative numbers', () => {
    const raw = [0x08, ...Array.from({ length: 9 }, () => 0xff), 0x01]
    const bytes = Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x12, raw.length, ...raw])
    expect(decodeProtobuf(bytes, deleteOptions)).toHaveProperty('gracePeriodSeconds', -1)
  })

  it('steps over fields of later releases', () => {
    const raw = [0xba, 0x3e, 2, 1, 2, 0x08, 7]
    const bytes = Uint8Array.from([0x6b, 0x38, 0x73, 0, 0x12, raw.length, ...raw])
    expect(decodeProtobuf(bytes, deleteOptions)).toHaveProperty('gracePeriodSeconds', 7)
  })

  it.each([
    ['90: nested messages', '90: nested schemas', 'depth'],
    ['90: too many fields', '90: a million empty containers', 'nodes'],
  ])('refuses %s', (_, name, because) => {
    const { bytes } = hostileTexts.find((text) => text.name === name) ?? {}
    expect(() => decodeProtobuf(bytes ?? Buffer.alloc(0))).toThrow(
      expect.objectContaining({ name: 'ParseRefusal', because }),
    )
  })

  it('answers 400, and nothing else, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...sent),
        fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 }),
        fc.nat(300),
        (from, edits, cut) => {
          const bytes = Buffer.from(from.body, 'base64')
          for (const [at, byte] of edits) bytes[at % bytes.length] = byte
          try {
            decodeProtobuf(bytes.subarray(0, cut))
          } catch (error) {
            expect(isStatusError(error, 'BadRequest')).toBe(true)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

const deleteOptions = { group: '', version: 'v1', kind: 'DeleteOptions' }
