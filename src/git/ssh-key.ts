import { createPrivateKey, type KeyObject, createHash, sign } from 'node:crypto'
import ssh2, { type ParsedKey } from 'ssh2'

/** Reads a private key in OpenSSH, PEM or PKCS#8 format. An error says what is wrong, without any part of the key. */
export function readSshKey(text: string, passphrase: string | undefined): ParsedKey {
  const trimmed = text.trim()
  const parsed = ssh2.utils.parseKey(isPkcs8(trimmed) ? fromPkcs8(trimmed, passphrase) : trimmed, passphrase)
  const [key] = Array.isArray(parsed) ? parsed : [parsed]
  if (!key || key instanceof Error) throw new Error(problemOf(trimmed, passphrase))
  if (!key.isPrivateKey()) throw new Error('is a public key')
  return key
}

function isPkcs8(text: string): boolean {
  return /^-----BEGIN (ENCRYPTED )?PRIVATE KEY-----/.test(text)
}

/** Converts a PKCS#8 key to a format that the SSH library reads. */
function fromPkcs8(text: string, passphrase: string | undefined): string | Buffer {
  let key: KeyObject
  try {
    key = createPrivateKey({ key: text, ...(passphrase === undefined ? {} : { passphrase }) })
  } catch (error) {
    throw new Error(problemOf(text, passphrase), { cause: error })
  }
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return key.export({ format: 'pem', type: 'pkcs1' })
    case 'ec':
      return key.export({ format: 'pem', type: 'sec1' })
    case 'ed25519':
      return openSshEd25519(key)
    default:
      throw new Error(`is a key of an unsupported type, ${key.asymmetricKeyType ?? 'none'}`)
  }
}

/** An Ed25519 key in OpenSSH's own format, unencrypted (PROTOCOL.key). */
function openSshEd25519(key: KeyObject): string {
  const { d = '', x = '' } = key.export({ format: 'jwk' })
  const [privateKey, publicKey] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]
  const publicBlob = Buffer.concat([field('ssh-ed25519'), field(publicKey)])
  const check = Buffer.alloc(8)
  const rest = [check, publicBlob, field(Buffer.concat([privateKey, publicKey])), field('')]
  const length = rest.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const padding = Buffer.from(Array.from({ length: (8 - (length % 8)) % 8 }, (_, index) => index + 1))
  const one = Buffer.from([0, 0, 0, 1])
  const blob = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    one,
    field(publicBlob),
    field(Buffer.concat([...rest, padding])),
  ])
  const lines = blob.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----'].join('\n')
}

/** A string in SSH encoding: length, then content (RFC 4251, section 5). */
export function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.byteLength)
  return Buffer.concat([length, bytes])
}

function problemOf(text: string, passphrase: string | undefined): string {
  if (!text.startsWith('-----BEGIN ')) return 'is not a private key'
  return passphrase === undefined
    ? 'cannot be read: it is damaged, or encrypted and its password is missing'
    : 'cannot be read: it is damaged, or its password is wrong'
}

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
