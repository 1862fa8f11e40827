import { request } from 'node:http'

/** A response that came through the proxy. */
export interface ProxyAnswer {
  readonly status: number
  readonly body: string
}

/** Requests a host through the proxy, as a browser whose DNS resolves to the proxy would. */
export function askThrough(proxy: string, host: string, signal: AbortSignal): Promise<ProxyAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(proxy, { headers: { host }, agent: false, signal }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    asked.on('error', reject)
    asked.end()
  })
}
