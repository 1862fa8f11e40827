import type { Socket } from 'node:net'
import { createTransport, type SendMailOptions } from 'nodemailer'
import type { ChannelSpec } from '../apis/notification-channel.ts'
import type { Network } from '../runtime/http/http.ts'
import { noticeHtml } from './html.ts'
import { subjectOf, type Channel } from './notice.ts'
import { noticeText } from './text.ts'

export interface SmtpCredentials {
  readonly username: string
  readonly password: string
}

/** Mails notices over SMTP, one connection each: notices are rare and servers drop idle connections. */
export function smtpChannel(
  name: string,
  smtp: NonNullable<ChannelSpec['smtp']>,
  ports: { readonly credentials: () => Promise<SmtpCredentials | undefined>; readonly connect: Network['connect'] },
): Channel {
  const recipients = (to: readonly string[]) => (smtp.to?.length ? [...smtp.to] : [...to])
  const mail = async (content: SendMailOptions, signal: AbortSignal) => {
    const login = await ports.credentials()
    const transport = createTransport({
      host: smtp.host,
      port: smtp.port ?? 587,
      secure: smtp.secure ?? false,
      requireTLS: smtp.requireTls ?? false,
      connectionTimeout: 15_000,
      greetingTimeout: 15_000,
      socketTimeout: 30_000,
      disableFileAccess: true,
      disableUrlAccess: true,
      getSocket: (_, done) => connected(ports.connect({ host: smtp.host, port: smtp.port ?? 587 }), done),
      ...(login ? { auth: { user: login.username, pass: login.password } } : {}),
    })
    const stop = () => transport.close()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await transport.sendMail({ from: smtp.from, cc: [...(smtp.cc ?? [])], ...content })
    } finally {
      signal.removeEventListener('abort', stop)
      transport.close()
    }
  }
  return {
    name,
    audience: (smtp.to ?? []).length === 0 ? 'owner' : 'group',
    async send(notice, signal) {
      const to = recipients(notice.to)
      const content = { subject: subjectOf(notice), text: noticeText(notice), html: noticeHtml(notice) }
      const headers = { ...automatic, 'x-sojourn-policy': notice.policy }
      const sent = await mail({ to, ...content, messageId: notice.messageId, headers }, signal)
      const { accepted, rejected, rejectedErrors = [] } = sent
      const delivered = accepted.map(addressOf)
      const addressed = new Set(to.map((address) => address.toLowerCase()))
      return {
        accepted: delivered.filter((address) => addressed.has(address.toLowerCase())),
        copies: delivered.filter((address) => !addressed.has(address.toLowerCase())),
        rejected: rejected.map((recipient) => {
          const error = rejectedErrors.find((candidate) => candidate.recipient === addressOf(recipient))
          return { recipient: addressOf(recipient), error: error?.response ?? 'refused' }
        }),
      }
    },
    // Copies are for notices of deletions.
    async write({ to, subject, text }, signal) {
      await mail({ to: recipients(to), cc: [], subject, text, headers: automatic }, signal)
    },
  }
}

const automatic = { 'auto-submitted': 'auto-generated' }

/** Hands over the TCP connection once it is open: nodemailer's own would ignore which addresses are denied. */
function connected(
  connection: Socket,
  done: (error: Error | null, options: { connection: Socket } | false) => void,
): void {
  const fail = (error: Error) => done(error, false)
  connection.once('error', fail)
  connection.setTimeout(connectMs, () => connection.destroy(new Error('the mail server did not answer in time')))
  connection.once('connect', () => {
    connection.off('error', fail)
    connection.setTimeout(0)
    done(null, { connection })
  })
}

const connectMs = 15_000

function addressOf(recipient: string | { readonly address: string }): string {
  return typeof recipient === 'string' ? recipient : recipient.address
}
