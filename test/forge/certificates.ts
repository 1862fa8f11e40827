import { generateKeyPairSync, sign } from 'node:crypto'

/** A certificate for the loopback address that vouches for itself, in PEM. */
export interface Certificates {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Made anew for each process, valid for a day. */
export function makeCertificates(): Certificates {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const name = sequence(set(sequence(oid('550403'), der(0x0c, Buffer.from('Test forge')))))
  const algorithm = sequence(oid('2a8648ce3d040302'))
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    sequence(utcTime(Date.now() - 3_600_000), utcTime(Date.now() + 86_400_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension('551d13', sequence(boolean(true))),
        extension('551d11', sequence(ip(127, 0, 0, 1), dns('localhost'))),
      ),
    ),
  )
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]))
  const cert = pem('CERTIFICATE', sequence(body, algorithm, signature))
  return { ca: cert, cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts))
const set = (...parts: Buffer[]) => der(0x31, Buffer.concat(parts))
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const integer = (value: number) => der(0x02, Buffer.from([value]))
const boolean = (value: boolean) => der(0x01, Buffer.from([value ? 0xff : 0]))
const ip = (...bytes: number[]) => der(0x87, Buffer.from(bytes))
const dns = (name: string) => der(0x82, Buffer.from(name))
const extension = (id: string, value: Buffer) => sequence(oid(id), der(0x04, value))

function utcTime(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(text.slice(2)))
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').replace(/.{64}/g, '$&\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}
