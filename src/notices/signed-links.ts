import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a signed link allows: one POST to `path`, for one object, until it expires. */
export interface LinkSubject {
  readonly path: string
  /** Names and uids of the object. A link is not valid for a later object of the same name. */
  readonly identity: readonly string[]
  readonly generation: number
  /** Epoch seconds. */
  readonly expires: number
}

export type LinkVerdict = 'good' | 'expired' | 'forged'

/** A link whose bearer may do what its page offers, without an account. */
export function signedUrl(base: string, key: string, subject: LinkSubject): string {
  const { path, generation, expires } = subject
  const query = new URLSearchParams({
    generation: String(generation),
    expires: String(expires),
    signature: signatureOf(key, subject),
  })
  return `${base.replace(/\/$/, '')}${path}?${query.toString()}`
}

/** Whether a link was signed by this installation, for this object, and has not expired. */
export function checkLink(
  key: string,
  subject: Pick<LinkSubject, 'path' | 'identity'>,
  { query, now }: { readonly query: Readonly<Record<string, string>>; readonly now: number },
): LinkVerdict {
  const { generation = '', expires = '', signature = '' } = query
  const signed = { ...subject, generation: Number(generation), expires: Number(expires) }
  const expected = Buffer.from(signatureOf(key, signed), 'utf8')
  const given = Buffer.from(signature, 'utf8')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged'
  return now < signed.expires * 1000 ? 'good' : 'expired'
}

function signatureOf(key: string, { path, identity, generation, expires }: LinkSubject): string {
  return createHmac('sha256', key)
    .update(['POST', path, JSON.stringify(identity), generation, expires].join('\n'))
    .digest('hex')
}
