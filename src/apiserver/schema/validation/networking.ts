import { isIP } from 'node:net'
import { invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import {
  at,
  checked,
  checkedIfGiven,
  entries,
  given,
  named,
  oneOf,
  size,
  strings,
  text,
  type Json,
} from './parts/checks.ts'
import { portOrName } from './parts/handlers.ts'
import { cidrFaults, labelFaults, subdomainFaults } from '../../../kube/names.ts'
import { selectorFaults } from './parts/selectors.ts'

/** Faults of an Ingress. */
export function* ingressFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const backend = given(spec, 'defaultBackend')
  if (size(spec.rules) === 0 && !backend) {
    yield invalidValue('spec', null, 'either `defaultBackend` or `rules` must be specified')
  }
  if (backend) yield* backendFaults(backend, 'spec.defaultBackend')
  for (const [rule, path] of entries(spec, 'rules', 'spec')) yield* ruleFaults(rule, path)
  for (const [tls, path] of entries(spec, 'tls', 'spec')) {
    for (const [host, where] of strings(tls, 'hosts', path)) yield* hostFaults(host, where)
  }
}

function* ruleFaults(rule: Json, path: string): Generator<FieldError> {
  const host = text(rule.host)
  if (host && isIP(host)) yield invalidValue(`${path}.host`, host, 'must be a DNS name, not an IP address')
  else if (host) yield* hostFaults(host, `${path}.host`)
  const http = given(rule, 'http')
  if (!http) return
  if (size(http.paths) === 0) yield required(`${path}.http.paths`)
  for (const [each, where] of entries(http, 'paths', `${path}.http`)) yield* pathFaults(each, where)
}

function* hostFaults(host: string, path: string): Generator<FieldError> {
  if (!host.includes('*')) yield* checked(path, host, subdomainFaults)
  else if (!host.startsWith('*.') || subdomainFaults(host.slice(2)).length > 0) {
    const rule =
      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
    const format = String.raw`'\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'`
    yield invalidValue(path, host, `${rule} (e.g. '*.example.com', regex used for validation is ${format})`)
  }
}

const misleading = ['//', '/./', '/../', '%2f', '%2F']

function* pathFaults(each: Json, path: string): Generator<FieldError> {
  const type = text(each.pathType)
  const value = text(each.path)
  if (type === '') yield required(`${path}.pathType`, 'pathType must be specified')
  else if (type === 'Exact' || type === 'Prefix') {
    if (!value.startsWith('/')) yield invalidValue(`${path}.path`, value, 'must be an absolute path')
    for (const part of misleading)
      if (value.includes(part)) yield invalidValue(`${path}.path`, value, `must not contain '${part}'`)
  } else if (type === 'ImplementationSpecific') {
    if (value && !value.startsWith('/')) yield invalidValue(`${path}.path`, value, 'must be an absolute path')
  } else yield unsupported(`${path}.pathType`, type, ['Exact', 'ImplementationSpecific', 'Prefix'])
  yield* backendFaults(at(each, 'backend'), `${path}.backend`)
}

function* backendFaults(backend: Json, path: string): Generator<FieldError> {
  const [service, resource] = [given(backend, 'service'), given(backend, 'resource')]
  if (service && resource) yield invalidValue(path, '', 'cannot set both resource and service backends')
  else if (!service && !resource) yield invalidValue(path, '', 'resource or service backend is required')
  if (!service || resource) return
  yield* named(`${path}.service.name`, service.name, labelFaults)
  const port = at(service, 'port')
  if (text(port.name) && port.number) yield invalidValue(path, '', 'cannot set both port name & port number')
  else if (text(port.name)) yield* portOrName(`${path}.service.port.name`, port.name)
  else if (port.number) yield* portOrName(`${path}.service.port.number`, port.number)
  else yield required(path, 'port name or number is required')
}

/** Faults of an IngressClass. */
export function* ingressClassFaults(object: Json): Generator<FieldError> {
  const controller = text(at(object, 'spec').controller)
  const [domain = '', rest] = controller.split(/\/(.*)/s)
  if (controller && (!rest || subdomainFaults(domain).length > 0)) {
    yield invalidValue('spec.controller', controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
  }
}

/** Faults of a NetworkPolicy. */
export function* networkPolicyFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  yield* selectorFaults('spec.podSelector', given(spec, 'podSelector'))
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const [rule, path] of entries(spec, direction, 'spec')) {
      for (const [port, where] of entries(rule, 'ports', path)) yield* policyPortFaults(port, where)
      for (const [peer, where] of entries(rule, peers, path)) yield* peerFaults(peer, where)
    }
  }
  for (const [type, path] of strings(spec, 'policyTypes', 'spec')) yield* oneOf(path, type, ['Ingress', 'Egress'])
}

function* policyPortFaults(port: Json, path: string): Generator<FieldError> {
  yield* oneOf(`${path}.protocol`, port.protocol, ['SCTP', 'TCP', 'UDP'])
  if (port.port !== undefined) yield* portOrName(`${path}.port`, port.port)
}

function* peerFaults(peer: Json, path: string): Generator<FieldError> {
  const block = given(peer, 'ipBlock')
  if (!block && !given(peer, 'podSelector') && !given(peer, 'namespaceSelector'))
    yield required(path, 'must specify a peer')
  yield* selectorFaults(`${path}.podSelector`, given(peer, 'podSelector'))
  yield* selectorFaults(`${path}.namespaceSelector`, given(peer, 'namespaceSelector'))
  if (!block) return
  if (!text(block.cidr)) yield required(`${path}.ipBlock.cidr`)
  yield* checkedIfGiven(`${path}.ipBlock.cidr`, block.cidr, cidrFaults)
}
