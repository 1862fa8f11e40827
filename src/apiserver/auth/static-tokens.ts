import { hash } from 'node:crypto'
import { authenticated, type User } from './user.ts'

/** Bearer tokens in the format of kube-apiserver's `--token-auth-file`: `token,user,uid,"group,group"` per line. */
export class StaticTokens {
  /** By digest of the token, so that the time of a lookup reveals nothing about known tokens. */
  readonly #users = new Map<string, User>()
  readonly #tokens = new Map<string, string>()

  static parse(text: string): StaticTokens {
    const tokens = new StaticTokens()
    for (const line of text.split('\n')) {
      const [token = '', name = '', uid = '', ...groups] = line.trim().replaceAll('"', '').split(',')
      if (!token || !name) continue
      tokens.#users.set(digest(token), authenticated({ name, uid, groups: groups.filter(Boolean) }))
      tokens.#tokens.set(name, token)
    }
    return tokens
  }

  user(token: string): User | undefined {
    return this.#users.get(digest(token))
  }

  /** The token of a user, for its kubeconfig. */
  tokenOf(userName: string): string | undefined {
    return this.#tokens.get(userName)
  }
}

function digest(token: string): string {
  return hash('sha256', token, 'base64')
}
