import { request } from 'node:https'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import type { TenantWorld } from './tenant-world.ts'
import type { UserName } from './users.ts'

/** A request as bytes: what no well-behaved client sends. */
export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export interface RawAnswer {
  readonly status: number
  readonly text: string
  readonly warnings: string
}

/** Sends requests to the world's API server as one of its users. */
export async function rawRequests({ kubeconfig }: TenantWorld, user: UserName) {
  const config = loadKubeconfig([kubeconfig], { now: () => Date.now(), env: {} })
  const { token, certificate, key } = await config.credentials()
  const authorization = token ? { authorization: `Bearer ${token}` } : {}
  return ({ method = 'POST', path, headers, body }: RawRequest): Promise<RawAnswer> =>
    new Promise((resolve, reject) => {
      const sent = request(
        new URL(config.server),
        {
          method,
          path,
          agent: false,
          ca: config.ca,
          ...(certificate ? { cert: certificate, key } : {}),
          headers: { ...authorization, 'impersonate-user': user, ...headers },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              text: Buffer.concat(chunks).toString(),
              warnings: String(response.headers['warning'] ?? ''),
            }),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
}
