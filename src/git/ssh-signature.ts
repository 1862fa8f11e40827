import { createHash, sign } from 'node:crypto'
import type { ParsedKey } from 'ssh2'
import { field } from './ssh-key.ts'

/** Signs a commit as `git commit -S` does with `gpg.format=ssh` (OpenSSH's PROTOCOL.sshsig). */
export function sshSignature(key: ParsedKey, payload: Buffer): string {
  const about = [field('git'), field(''), field('sha512')]
  const digest = createHash('sha512').update(payload).digest()
  const signed = Buffer.concat([Buffer.from('SSHSIG'), ...about, field(digest)])
  const version = Buffer.from([0, 0, 0, 1])
  const blob = Buffer.concat([
    Buffer.from('SSHSIG'),
    version,
    field(key.getPublicSSH()),
    ...about,
    field(signatureBlob(key, signed)),
  ])
  const lines = blob.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----'].join('\n')
}

function signatureBlob(key: ParsedKey, data: Buffer): Buffer {
  const pem = key.getPrivatePEM()
  switch (key.type) {
    case 'ssh-ed25519':
      return Buffer.concat([field(key.type), field(sign(null, data, pem))])
    case 'ssh-rsa':
      return Buffer.concat([field('rsa-sha2-512'), field(sign('sha512', data, pem))])
    case 'ecdsa-sha2-nistp256':
    case 'ecdsa-sha2-nistp384':
    case 'ecdsa-sha2-nistp521': {
      const both = sign(ecdsaHash[key.type], data, { key: pem, dsaEncoding: 'ieee-p1363' })
      const half = both.byteLength / 2
      const numbers = [both.subarray(0, half), both.subarray(half)].map((each) => field(mpint(each)))
      return Buffer.concat([field(key.type), field(Buffer.concat(numbers))])
    }
    default:
      throw new Error(`is a key of type ${key.type}, which cannot sign commits`)
  }
}

const ecdsaHash = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
} as const

/** A positive number as SSH's mpint: no leading zeros except one to clear the sign bit (RFC 4251, section 5). */
function mpint(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0)
  const digits = start < 0 ? Buffer.alloc(0) : bytes.subarray(start)
  return (digits[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits
}
