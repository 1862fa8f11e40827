import { createServer, type Server } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { networkHttp } from './http.ts'
import { allowedOutgoingProblem, isDeniedAddress, Outgoing } from './outgoing.ts'
import { proveOutgoing } from './prove-outgoing.ts'

describe('connections to servers that a user named', () => {
  let server: Server
  let port: number
  let requests = 0
  beforeAll(async () => {
    server = createServer((_, response) => {
      requests++
      response.end('inside')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => void server.close())

  const get = async (url: string, outgoing: Outgoing) => {
    const { http, close } = networkHttp({ outgoing })
    try {
      return (await http({ method: 'GET', url })).status
    } catch (error) {
      return isDeniedAddress(error) ? 'denied' : (error as Error).message
    } finally {
      close()
    }
  }

  it.each([
    '127.0.0.1',
    'localhost',
    '127.1',
    '2130706433',
    '0.0.0.0',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '169.254.169.254',
    '10.0.0.1',
    '192.168.1.1',
    '[::1]',
    '[fd00::1]',
    '[fe80::1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ])('of tenants never reach %s', async (host) => {
    const before = requests
    const outgoing = new Outgoing({ for: 'tenants' })
    expect(await get(`http://${host}:${port}/`, outgoing)).toBe('denied')
    expect(await get(`https://${host}:${port}/`, outgoing)).toBe('denied')
    expect(requests).toBe(before)
  })

  it('check the address that a name resolves to at the very connection', async () => {
    const answers = ['192.0.2.1', '127.0.0.1']
    const lookup: LookupFunction = (_, __, done) => done(null, [{ address: answers.pop() ?? '127.0.0.1', family: 4 }])
    const socket = new Outgoing({ for: 'tenants' }).connect({ host: 'rebound.example.org', port, lookup })
    const error = await new Promise((resolve) => socket.once('error', resolve))
    expect(isDeniedAddress(error)).toBe(true)
  })

  it.each(['127.0.0.1', '127.0.0.0/8', '127.0.0.0/30'])('reach %s where the operator allows it', async (allowed) => {
    const outgoing = new Outgoing({ for: 'tenants', allow: [allowed] })
    expect(await get(`http://127.0.0.1:${port}/`, outgoing)).toBe(200)
    expect(await get(`http://10.0.0.1:${port}/`, outgoing)).toBe('denied')
  })

  it('reach a host by name where the operator allows that name, and only at that port if it says so', async () => {
    expect(await get(`http://localhost:${port}/`, new Outgoing({ for: 'tenants', allow: ['localhost'] }))).toBe(200)
    expect(await get(`http://localhost:${port}/`, new Outgoing({ for: 'tenants', allow: [`localhost:${port}`] }))).toBe(
      200,
    )
    expect(await get(`http://localhost:${port}/`, new Outgoing({ for: 'tenants', allow: ['localhost:1'] }))).toBe(
      'denied',
    )
  })

  it('of administrators reach private addresses, but no link-local ones', async () => {
    const outgoing = new Outgoing({ for: 'administrators' })
    expect(await get(`http://127.0.0.1:${port}/`, outgoing)).toBe(200)
    expect(await get('http://169.254.169.254/', outgoing)).toBe('denied')
  })

  it('never reach an address that is denied by name, such as the API server’s', async () => {
    const outgoing = new Outgoing({ for: 'tenants', allow: ['127.0.0.0/8'] })
    outgoing.deny('127.0.0.1', port)
    expect(await get(`http://127.0.0.1:${port}/`, outgoing)).toBe('denied')
  })

  it('of kubeconfigs reach private addresses, but neither this machine nor link-local ones', async () => {
    const outgoing = new Outgoing({ for: 'kubeconfigs' })
    expect(await get(`http://127.0.0.1:${port}/`, outgoing)).toBe('denied')
    expect(await get('http://169.254.169.254/', outgoing)).toBe('denied')
    const socket = outgoing.connect({ host: '10.255.255.1', port: 1 })
    const denied = await new Promise((resolve) => {
      socket.once('error', (error) => resolve(isDeniedAddress(error)))
      setTimeout(() => resolve(false), 100)
    })
    socket.destroy()
    expect(denied).toBe(false)
  })

  it.each(['http', 'https'])('say by which flag the operator allows them, over %s', async (scheme) => {
    const { http, close } = networkHttp({ outgoing: new Outgoing({ for: 'tenants' }) })
    await expect(http({ method: 'GET', url: `${scheme}://127.0.0.1:${port}/` })).rejects.toThrow(
      `--allow-outgoing 127.0.0.1:${port}`,
    )
    close()
  })

  it('are proven to be guarded when the process starts', async () => {
    await proveOutgoing()
    await expect(proveOutgoing(new Outgoing({ for: 'administrators' }))).rejects.toThrow('does not start')
  })
})

describe('the list of allowed destinations', () => {
  it.each(['10.0.0.0/8', '10.1.2.3', '10.1.2.3:80', 'fd00::/8', '[::1]:80', 'git.example.org', 'git:3000'])(
    'takes %s',
    (entry) => expect(allowedOutgoingProblem(entry)).toBeUndefined(),
  )
  it.each(['10.0.0.0/33', '::ffff:10.0.0.0/104', 'http://git', 'git/8', '', '*.svc', '10.0.0.0/8/8'])(
    'refuses %j',
    (entry) => expect(allowedOutgoingProblem(entry)).toBeDefined(),
  )
})
