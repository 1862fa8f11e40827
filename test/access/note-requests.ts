import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'
import { requestInfo } from '../../src/apiserver/http/request/request-info.ts'
import { Client } from '../../src/client/client.ts'
import { roleOf } from './who-asked.ts'

const file = process.env['ACCESS_LOG']
const noted = new Set<string>()
const isNoting = Symbol.for('sojourn.dev/noting-requests')

/** Notes, once each, what the systems' own code asks of an API server, whoever the test lets it be. */
if (file && !(isNoting in Client)) {
  Object.assign(Client, { [isNoting]: true })
  Error.stackTraceLimit = 100
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the client that asks
  const ask = Client.prototype.request
  Client.prototype.request = function request(this: Client, wish) {
    const role = roleOf(new Error('who asks').stack ?? '', expect.getState())
    const info = requestInfo(wish.method, wish.path, wish.query)
    if (role && info?.kind === 'resource') {
      const { verb, group, resource, subresource, namespace } = info
      const line = JSON.stringify({ role, verb, group, resource, subresource, isOwn: namespace === 'sojourn-system' })
      if (!noted.has(line)) appendFileSync(file, `${line}\n`)
      noted.add(line)
    }
    return ask.call(this, wish)
  }
}
