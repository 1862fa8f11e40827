import type { SecretData } from './repository-access.ts'
import { Trouble } from '../../../git/trouble.ts'

/** The signature of a commit with the key a Secret holds: an SSH key as `identity`, or an OpenPGP key as `git.asc`. */
export async function signCommit(
  commit: Buffer,
  given: { readonly data: SecretData; readonly secret: string; readonly atMs: number },
): Promise<string> {
  const { data, secret, atMs } = given
  const { identity, password, 'git.asc': armoured, passphrase } = data
  if ((identity === undefined) === (armoured === undefined))
    throw new Trouble(
      'Permanent',
      'CredentialsMissing',
      `commit.signingKeyRef: Secret ${secret} must have either identity (an SSH key) or git.asc (an OpenPGP key)`,
    )
  try {
    // Loaded by those who sign, and nobody else.
    if (armoured !== undefined) {
      const { openPgpSignature } = await import('../../../git/openpgp-signature.ts')
      return await openPgpSignature(armoured, { passphrase, commit, atMs })
    }
    const [{ sshSignature }, { readSshKey }] = await Promise.all([
      import('../../../git/ssh-signature.ts'),
      import('../../../git/ssh-key.ts'),
    ])
    return sshSignature(readSshKey(identity ?? '', password), commit)
  } catch (error) {
    throw keyTrouble(
      `commit.signingKeyRef: ${armoured === undefined ? 'identity' : 'git.asc'} of Secret ${secret}`,
      error,
    )
  }
}

/** Says which key cannot be used and why; nothing of the key itself is in it. */
export function keyTrouble(key: string, error: unknown): Trouble {
  return new Trouble('Permanent', 'KeyInvalid', `${key} ${(error as Error).message}`, { cause: error })
}
