import { createPrivateKey, type KeyObject } from 'node:crypto'
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
