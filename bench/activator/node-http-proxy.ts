import http from 'node:http'

// What one writes first in Node: node:http in front, a keep-alive Agent behind.
const [port = '0', backend = '127.0.0.1:9000'] = process.argv.slice(2)
const [host, backendPort] = backend.split(':')
const agent = new http.Agent({ keepAlive: true, maxSockets: 4096 })

http
  .createServer((request, response) => {
    const headers = {
      ...request.headers,
      'x-forwarded-for': request.socket.remoteAddress,
      'x-forwarded-host': request.headers.host,
      'x-forwarded-proto': 'http',
    }
    const { method, url } = request
    const upstream = http.request({ host, port: backendPort, agent, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    upstream.on('error', () => response.destroy())
    request.pipe(upstream)
  })
  .listen(Number(port), '127.0.0.1', 4096)
