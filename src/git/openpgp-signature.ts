import { dateOf } from '../kube/time.ts'
import { createMessage, decryptKey, readPrivateKey, sign, type PrivateKey } from 'openpgp'

/** Signs a commit as `git commit -S` does with GnuPG; throws an error that says what is wrong with the key and holds nothing of it. */
export async function openPgpSignature(
  armoredKey: string,
  given: { readonly passphrase: string | undefined; readonly commit: Buffer; readonly atMs: number },
): Promise<string> {
  const { passphrase, commit, atMs } = given
  const key = await readKey(armoredKey, passphrase)
  const message = await createMessage({ binary: new Uint8Array(commit), format: 'binary' })
  // The same commit must get the same signature when it is made again after a crash: nothing random, and not the time it is now.
  // A key cannot have signed before it was made; it may have been made because of this very promotion.
  const config = { nonDeterministicSignaturesViaNotation: false, showComment: false, showVersion: false }
  const date = dateOf(Math.max(atMs, ...key.getKeys().map((each) => each.getCreationTime().getTime())))
  return await sign({ message, signingKeys: key, detached: true, date, config }).catch((error: unknown) => {
    throw new Error('cannot sign: it has expired, was revoked, or is not for signing', { cause: error })
  })
}

async function readKey(armoredKey: string, passphrase: string | undefined): Promise<PrivateKey> {
  const privateKey = await readPrivateKey({ armoredKey }).catch((error: unknown) => {
    throw new Error('is not an armoured OpenPGP private key', { cause: error })
  })
  if (privateKey.isDecrypted()) return privateKey
  if (passphrase === undefined) throw new Error('is encrypted, and the Secret has no passphrase')
  return decryptKey({ privateKey, passphrase }).catch((error: unknown) => {
    throw new Error('cannot be decrypted with the passphrase of the Secret', { cause: error })
  })
}
