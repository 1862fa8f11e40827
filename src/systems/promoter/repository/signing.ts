import type { SecretData } from './repository-access.ts'
import { PromotionError } from '../../../git/promotion-error.ts'

/** Signs a commit with the key in a Secret: an SSH key under `identity` or an OpenPGP key under `git.asc`. */
export async function signCommit(
  commit: Buffer,
  given: { readonly data: SecretData; readonly secret: string; readonly atMs: number },
): Promise<string> {
  const { data, secret, atMs } = given
  const { identity, password, 'git.asc': armored, passphrase } = data
  if ((identity === undefined) === (armored === undefined))
    throw new PromotionError(
      'Permanent',
      'CredentialsMissing',
      `commit.signingKeyRef: Secret ${secret} must have either identity (an SSH key) or git.asc (an OpenPGP key)`,
    )
  try {
    // Imported on demand: most pipelines do not sign commits.
    if (armored !== undefined) {
      const { openPgpSignature } = await import('../../../git/openpgp-signature.ts')
      return await openPgpSignature(armored, { passphrase, commit, atMs })
    }
    const [{ sshSignature }, { readSshKey }] = await Promise.all([
      import('../../../git/ssh-signature.ts'),
      import('../../../git/ssh-key.ts'),
    ])
    return sshSignature(readSshKey(identity ?? '', password), commit)
  } catch (error) {
    throw keyError(`commit.signingKeyRef: ${armored === undefined ? 'identity' : 'git.asc'} of Secret ${secret}`, error)
  }
}

/** Says which key cannot be used and why, without any part of the key. */
export function keyError(key: string, error: unknown): PromotionError {
  return new PromotionError('Permanent', 'KeyInvalid', `${key} ${(error as Error).message}`, { cause: error })
}
