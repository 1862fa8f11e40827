import { dateOf } from '../kube/time.ts'
import { createMessage, decryptKey, readPrivateKey, sign, type PrivateKey } from 'openpgp'

/** Signs a commit as `git commit -S` does with GnuPG. An error says what is wrong with the key, without any part of it. */
export async function openPgpSignature(
  armoredKey: string,
  given: { readonly passphrase: string | undefined; readonly commit: Buffer; readonly atMs: number },
): Promise<string> {
  const { passphrase, commit, atMs } = given
  const key = await readKey(armoredKey, passphrase)
  const message = await createMessage({ binary: new Uint8Array(commit), format: 'binary' })
  // A restarted process must create the same commit again, so the signature has no random part and uses the intent's time,
  // or the key's creation time if that is later: the key may have been created after this promotion failed without it.
  const config = { nonDeterministicSignaturesViaNotation: false, showComment: false, showVersion: false }
  const date = dateOf(Math.max(atMs, ...key.getKeys().map((each) => each.getCreationTime().getTime())))
  return await sign({ message, signingKeys: key, detached: true, date, config }).catch((error: unknown) => {
    throw new Error('cannot sign: it is expired, revoked or not a signing key', { cause: error })
  })
}

async function readKey(armoredKey: string, passphrase: string | undefined): Promise<PrivateKey> {
  const privateKey = await readPrivateKey({ armoredKey }).catch((error: unknown) => {
    throw new Error('is not an armored OpenPGP private key', { cause: error })
  })
  if (privateKey.isDecrypted()) return privateKey
  if (passphrase === undefined) throw new Error('is encrypted, but the Secret has no passphrase')
  return decryptKey({ privateKey, passphrase }).catch((error: unknown) => {
    throw new Error('cannot be decrypted with the passphrase of the Secret', { cause: error })
  })
}
