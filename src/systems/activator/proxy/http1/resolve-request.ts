import type { Because } from '../answers/answers.ts'
import type { Purpose } from '../routing/ports.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import type { ResolvedRequest } from './exchange.ts'
import { fieldKind, type Head } from '../wire/head.ts'
import { connectionOptions, fieldValue, rewriteRequest, valuesOfKind } from '../routing/rewrite.ts'
import type { Route } from '../routing/route.ts'
import { findStaticAnswer } from '../routing/static-answer.ts'
import { isNavigation } from '../answers/waiting-page.ts'

/** The connection, or the stream, that a request comes by. */
export interface RequestContext {
  keepAlive: boolean
  readonly remoteAddress: string
  readonly proto: 'http' | 'https'
  /** The version of its protocol, as Via names it. */
  readonly via: string
  readonly purpose: Purpose
  /** Whether the peer is a proxy whose forwarding fields are believed. */
  readonly isTrusted: boolean
  /** The forwarding fields, and the host they are for. */
  addedFor: string
  added: string
}

const methods = ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Finds a request's route and the head to forward it with, or why it cannot be forwarded. */
export function resolveRequest(
  bytes: Buffer,
  head: Head,
  context: RequestContext,
  thread: ProxyThread,
): ResolvedRequest | Because {
  const method = methodOf(bytes, head)
  if (method === 'CONNECT') return 'unsupported-method'
  let target: string | undefined
  let host = head.host < 0 ? '' : hostOf(bytes, head, context.addedFor)
  const form = bytes[head.targetStart]
  if (head.host < 0 && head.minor === 1) return 'bad-host'
  if (form !== 47) {
    const absolute = absoluteForm(bytes.toString('latin1', head.targetStart, head.targetEnd), method)
    if (absolute === undefined) return 'malformed-request'
    target = absolute.target
    if (absolute.host !== undefined) host = absolute.host
  }
  if (host === '' && head.minor === 1) return 'bad-host'
  let upgrade: string | undefined
  if (head.connections > 0) {
    const options = connectionOptions(bytes, head)
    if (options.forbidden) return 'malformed-request'
    context.keepAlive = head.minor === 1 ? !options.close : options.keepAlive && !options.close
    if (options.upgrade && head.hasUpgrade && head.minor === 1) upgrade = upgradeOf(bytes, head)
  }
  if (head.hasExpect && valuesOfKind(bytes, head, fieldKind.expect).toLowerCase() !== '100-continue')
    return 'unsupported-expectation'
  const { purpose } = context
  const isCheck = purpose.is === 'checks'
  if (isCheck) {
    host = listedFirst(fieldValue(bytes, head, 'x-forwarded-host')) ?? host
    target = fieldValue(bytes, head, 'x-forwarded-uri') ?? fieldValue(bytes, head, 'x-original-uri') ?? target
  }
  const routes = thread.table.find(host)
  if (routes === 'invalid') return 'bad-host'
  const route =
    purpose.is === 'requests'
      ? thread.routes.get(purpose.route)
      : (routes?.only ?? routes?.match(target ?? pathOf(bytes, head)))
  if (!route) return 'unknown-host'
  const line =
    target !== undefined || head.minor === 0 ? `${method} ${target ?? pathOf(bytes, head)} HTTP/1.1\r\n` : undefined
  const rewritten = rewriteRequest(bytes, head, {
    line,
    keepsForwarded: head.hasForwarded && context.isTrusted,
    host: target !== undefined || head.host < 0 ? host || (route.config.hosts[0] ?? 'localhost') : undefined,
    added:
      (upgrade === undefined ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`) +
      addedFields(bytes, head, context, host),
  })
  const warm = route.target.state.is === 'warm'
  const { staticAnswers } = route.config
  return {
    route,
    method,
    host,
    head: warm ? rewritten : flat(rewritten),
    asksUpgrade: upgrade !== undefined,
    isCheck,
    isProbe: isProbe(route, bytes, head),
    fixed:
      staticAnswers.length === 0 ? undefined : findStaticAnswer(staticAnswers, method, target ?? pathOf(bytes, head)),
    isNavigation: route.config.waitingPage && !warm && isNavigation(method, (name) => fieldValue(bytes, head, name)),
  }
}

/** The method; the usual ones as constants, since every comparison with a string made anew is a search for its equal. */
function methodOf(bytes: Buffer, head: Head): string {
  for (const method of methods) if (is(method, bytes, head.start, head.methodEnd)) return method
  return bytes.toString('latin1', head.start, head.methodEnd)
}

/** The Host field. A connection mostly names the same one: then the very string it had before, whose hash is known. */
function hostOf(bytes: Buffer, head: Head, former: string): string {
  const start = head.valueStart(head.host)
  const end = head.valueEnd(head.host)
  return is(former, bytes, start, end) ? former : bytes.toString('latin1', start, end)
}

function is(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}

/** The first element of a list: the value that the outermost proxy wrote. */
function listedFirst(value: string | undefined): string | undefined {
  return value?.split(',')[0]?.trim()
}

function pathOf(bytes: Buffer, head: Head): string {
  return bytes.toString('latin1', head.targetStart, head.targetEnd)
}

/** Absolute form names its own host, `*` is for OPTIONS alone (RFC 9112 §3.2.2, §3.2.4). Other forms are refused. */
function absoluteForm(target: string, method: string): { readonly host?: string; readonly target: string } | undefined {
  if (target === '*') return method === 'OPTIONS' ? { target } : undefined
  const parts = /^https?:\/\/([^/?#@]+)([/?][^#]*)?$/i.exec(target)
  if (!parts) return undefined
  const path = parts[2] ?? '/'
  return { host: parts[1]!, target: path.startsWith('/') ? path : `/${path}` }
}

/** The protocol a client asks to switch to. Not h2c: requests inside such a tunnel would bypass routing and parsing. */
function upgradeOf(bytes: Buffer, head: Head): string | undefined {
  const protocol = valuesOfKind(bytes, head, fieldKind.upgrade)
  return protocol === '' || /(?:^|,)\s*h2c?\s*(?:,|$)/i.test(protocol) ? undefined : protocol
}

/** The X-Forwarded fields at the end of a head. Values of a trusted proxy are kept and extended, those of other clients dropped. */
function addedFields(bytes: Buffer, head: Head, context: RequestContext, host: string): string {
  if (!head.hasForwarded || !context.isTrusted) {
    if (context.addedFor !== host || context.added === '') {
      context.added = flat(forwarding(context, context.remoteAddress, host, context.proto))
      context.addedFor = host
    }
    return context.added
  }
  const passed = valuesOfKind(bytes, head, fieldKind.forwardedFor)
  return forwarding(
    context,
    passed === '' ? context.remoteAddress : `${passed}, ${context.remoteAddress}`,
    valuesOfKind(bytes, head, fieldKind.forwardedHost) || host,
    valuesOfKind(bytes, head, fieldKind.forwardedProto) || context.proto,
  )
}

function forwarding({ via }: RequestContext, client: string, host: string, proto: string): string {
  return `X-Forwarded-For: ${client}\r\n${host === '' ? '' : `X-Forwarded-Host: ${host}\r\n`}X-Forwarded-Proto: ${proto}\r\nVia: ${via} sojourn\r\n\r\n`
}

/** A flat copy of a string: a concatenated one would keep all its parts in memory while the connection lasts. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

function isProbe({ config }: Route, bytes: Buffer, head: Head): boolean {
  if (config.probePaths.length > 0 && config.probePaths.includes(pathOf(bytes, head))) return true
  if (head.userAgent < 0) return false
  const first = String.fromCharCode(bytes[head.valueStart(head.userAgent)]!)
  for (const agent of config.probeAgents)
    if (agent.startsWith(first) && agentOf(bytes, head).startsWith(agent)) return true
  return false
}

function agentOf(bytes: Buffer, head: Head): string {
  return bytes.toString('latin1', head.valueStart(head.userAgent), head.valueEnd(head.userAgent))
}
