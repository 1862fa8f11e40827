import http from 'node:http'
import type { Address } from '../proxy/routing/route.ts'

/** What the pods of a Service say of themselves. Whoever cannot be asked, or gives no number, is not known to be idle. */
export type Activity =
  | { readonly is: 'idle' }
  | { readonly is: 'busy' }
  | { readonly is: 'unknown'; readonly why: string }

const askMs = 2000
const maxBytes = 1024

/** Asks each pod how many connections or requests it has open: a plain number in the body of a 200. */
export async function probePods(pods: readonly Address[], path: string): Promise<Activity> {
  const answers = await Promise.all(pods.map((pod) => ask(pod, path)))
  if (answers.some((count) => typeof count === 'number' && count > 0)) return { is: 'busy' }
  const why = answers.find((count) => typeof count === 'string')
  return why === undefined ? { is: 'idle' } : { is: 'unknown', why }
}

/** The number, or why there is none. */
function ask({ host, port }: Address, path: string): Promise<number | string> {
  const who = `${host}:${port}${path}`
  return new Promise((resolve) => {
    const request = http.get({ host, port, path, agent: false, headers: { 'user-agent': 'sojourn-activity/1' } })
    const timer = AbortSignal.timeout(askMs)
    const giveUp = () => request.destroy(new Error('no answer in time'))
    timer.addEventListener('abort', giveUp)
    const done = (answer: number | string) => {
      timer.removeEventListener('abort', giveUp)
      request.destroy()
      resolve(answer)
    }
    request.on('error', (error) => done(`${who}: ${error.message}`))
    request.on('response', (response) => {
      if (response.statusCode !== 200) return done(`${who} answered ${response.statusCode}`)
      let text = ''
      response.setEncoding('utf8')
      response.on('error', (error) => done(`${who}: ${error.message}`))
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > maxBytes) done(`${who} answered with more than a number`)
      })
      response.on('end', () => done(numberIn(text) ?? `${who} answered with no number`))
    })
  })
}

function numberIn(text: string): number | undefined {
  return /^\s*[0-9]{1,9}\s*$/.test(text) ? Number(text) : undefined
}
