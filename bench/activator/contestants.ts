import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildGo, Unavailable } from '../../scripts/reference-cluster/go-build.ts'

/** A proxy that takes part: how it is started for a port. */
export interface Contestant {
  readonly name: string
  command(port: number, backend: string): readonly string[]
}

const folder = mkdtempSync(join(tmpdir(), 'activator-bench-'))
const here = import.meta.dirname

export const ours: Contestant = {
  name: 'sojourn',
  command: (port, backend) => [process.execPath, join(here, 'sojourn-proxy.ts'), String(port), backend],
}

const nodeHttp: Contestant = {
  name: 'node:http',
  command: (port, backend) => [process.execPath, join(here, 'node-http-proxy.ts'), String(port), backend],
}

const nginx: Contestant = {
  name: 'nginx',
  command: (port, backend) => ['nginx', '-c', nginxConfig(`proxy-${port}`, proxyServer(port, backend))],
}

/** The proxies that can run on this machine, ours first; says which cannot. */
export async function contestants(): Promise<Contestant[]> {
  const found = [ours]
  if (hasNginx()) found.push(nginx)
  else console.error('SKIPPED nginx: not installed')
  for (const name of ['fasthttp-proxy', 'go-reverseproxy']) {
    const output = join(here, '../peers/.cache', name)
    try {
      await buildGo({ module: join(here, '../peers', name), package: '.', output })
      found.push({ name, command: (port, backend) => [output, '-listen', `127.0.0.1:${port}`, '-backend', backend] })
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      console.error(`SKIPPED ${name}: ${error.message}`)
    }
  }
  return [...found, nodeHttp]
}

/** The command of a backend that answers everything with a kilobyte. */
export function backendCommand(port: number): readonly string[] {
  if (!hasNginx()) throw new Error('the benchmark needs nginx as its backend')
  const server = `server { listen 127.0.0.1:${port} backlog=4096; location / { default_type text/plain; return 200 "${'x'.repeat(1024)}"; } }`
  return ['nginx', '-c', nginxConfig(`backend-${port}`, server)]
}

function hasNginx(): boolean {
  return ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx'].some((path) =>
    existsSync(path),
  )
}

function proxyServer(port: number, backend: string): string {
  return `
    upstream backend { server ${backend}; keepalive 1024; keepalive_requests 100000000; }
    server {
      listen 127.0.0.1:${port} backlog=4096;
      location / {
        proxy_pass http://backend;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Forwarded-Proto $scheme;
      }
    }`
}

function nginxConfig(name: string, server: string): string {
  const path = join(folder, `${name}.conf`)
  writeFileSync(
    path,
    `worker_processes 1; daemon off; pid ${join(folder, name)}.pid; error_log ${join(folder, name)}.log;
    events { worker_connections 8192; }
    http { access_log off; keepalive_requests 100000000; keepalive_timeout 600s; ${server} }`,
  )
  return path
}
