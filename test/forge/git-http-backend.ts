import { execFileSync, spawn } from 'node:child_process'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'

const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend')

export interface GitAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
}

/** Lets git's own HTTP server program answer a request. */
export function serveGit(
  request: IncomingMessage,
  { root, path, query, user }: { root: string; path: string; query: string; user: string },
): Promise<GitAnswer> {
  return new Promise((resolve, reject) => {
    const child = spawn(backend, {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        CONTENT_LENGTH: request.headers['content-length'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_USER: user,
        REMOTE_ADDR: '127.0.0.1',
      },
    })
    request.pipe(child.stdin)
    child.stdin.on('error', () => {})
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', () => {
      const output = Buffer.concat(chunks)
      const end = output.indexOf('\r\n\r\n')
      const headers = output
        .toString('latin1', 0, end)
        .split('\r\n')
        .map((line) => line.split(/:\s*/, 2) as [string, string])
      const status = headers.find(([name]) => name === 'Status')
      resolve({
        status: Number(status?.[1]?.split(' ')[0] ?? 200),
        headers: Object.fromEntries(headers.filter(([name]) => name !== 'Status')),
        body: output.subarray(end + 4),
      })
    })
  })
}
