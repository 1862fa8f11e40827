import { duplicate, forbidden, invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import {
  at,
  checked,
  entries,
  named,
  oneOf,
  oneOfIfGiven,
  port,
  size,
  strings,
  text,
  type Json,
} from './parts/checks.ts'
import { portOrName } from './parts/handlers.ts'
import { labelsFaults } from './parts/metadata.ts'
import { cidrFaults, ipFaults, labelFaults, subdomainFaults } from '../../../kube/names.ts'

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']

/** Faults of a Service. */
export function* serviceFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const type = text(spec.type)
  const isHeadless = spec.clusterIP === 'None'
  if (size(spec.ports) === 0 && !isHeadless && type !== 'ExternalName') yield required('spec.ports')
  yield* typeFaults(spec, type, isHeadless)
  yield* portsFaults(spec, type, isHeadless)
  yield* labelsFaults('spec.selector', spec.selector)
  yield* oneOf('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None'])
  yield* addressFaults(spec, type)
  for (const [address, path] of strings(spec, 'externalIPs', 'spec')) yield* checked(path, address, ipFaults)
  yield* oneOf('spec.type', type, types)
  yield* trafficFaults(spec, type)
  for (const [range, path] of strings(spec, 'loadBalancerSourceRanges', 'spec')) {
    yield* checked(path.replace('loadBalancer', 'LoadBalancer'), range.trim(), cidrFaults)
  }
}

function* typeFaults(spec: Json, type: string, isHeadless: boolean): Generator<FieldError> {
  if (isHeadless && (type === 'NodePort' || type === 'LoadBalancer')) {
    yield invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`)
  }
  if (type !== 'ExternalName') return
  if (text(spec.clusterIP)) yield forbidden('spec.clusterIPs[0]', `may not be set for ExternalName services`)
  yield* named('spec.externalName', spec.externalName, subdomainFaults)
}

function* portsFaults(spec: Json, type: string, isHeadless: boolean): Generator<FieldError> {
  const all = entries(spec, 'ports', 'spec')
  const names = new Set<string>()
  for (const [each, path] of all) {
    const name = text(each.name)
    if (name === '' && all.length > 1) yield required(`${path}.name`)
    if (name && labelFaults(name).length > 0) yield* checked(`${path}.name`, name, labelFaults)
    else if (name && names.has(name)) yield duplicate(`${path}.name`, name)
    names.add(name)
    yield* port(`${path}.port`, each.port)
    yield* oneOf(`${path}.protocol`, each.protocol, ['SCTP', 'TCP', 'UDP'])
    yield* portOrName(`${path}.targetPort`, each.targetPort)
    if (isHeadless && each.targetPort !== each.port && typeof each.targetPort === 'number') continue
    if (type === 'ClusterIP' && each.nodePort)
      yield forbidden(`${path}.nodePort`, "may not be used when `type` is 'ClusterIP'")
  }
  yield* repeatedFaults(all)
}

function* repeatedFaults(all: readonly (readonly [Json, string])[]): Generator<FieldError> {
  const seen = new Set<string>()
  for (const [each, path] of all) {
    const key = `${text(each.protocol)}/${String(each.port as number)}`
    const shown = { Name: '', Protocol: each.protocol, AppProtocol: null, Port: each.port, TargetPort: 0, NodePort: 0 }
    if (seen.has(key)) yield duplicate(path, shown)
    seen.add(key)
  }
}

function* addressFaults(spec: Json, type: string): Generator<FieldError> {
  const address = text(spec.clusterIP)
  if (address && address !== 'None' && type !== 'ExternalName') yield* checked('spec.clusterIPs[0]', address, ipFaults)
}

function* trafficFaults(spec: Json, type: string): Generator<FieldError> {
  const policy = text(spec.externalTrafficPolicy)
  const isReachable = type === 'NodePort' || type === 'LoadBalancer' || size(spec.externalIPs) > 0
  if (policy && !isReachable) {
    yield invalidValue('spec.externalTrafficPolicy', policy, 'may only be set for externally-accessible services')
  } else if (policy && policy !== 'Cluster' && policy !== 'Local') {
    yield unsupported('spec.externalTrafficPolicy', policy, ['Cluster', 'Local'])
  }
  yield* oneOfIfGiven('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local'])
}

/** Faults of an Endpoints object. */
export function* endpointsFaults(object: Json): Generator<FieldError> {
  for (const [subset, path] of entries(object, 'subsets', '')) {
    for (const key of ['addresses', 'notReadyAddresses']) {
      for (const [address, where] of entries(subset, key, path)) yield* checked(`${where}.ip`, address.ip, ipFaults)
    }
    for (const [each, where] of entries(subset, 'ports', path)) {
      yield* port(`${where}.port`, each.port)
      yield* oneOf(`${where}.protocol`, each.protocol, ['SCTP', 'TCP', 'UDP'])
    }
  }
}

/** Faults of an EndpointSlice. */
export function* endpointSliceFaults(object: Json): Generator<FieldError> {
  const { addressType } = object
  yield* oneOf('addressType', addressType, ['FQDN', 'IPv4', 'IPv6'])
  for (const [each, path] of entries(object, 'ports', '')) {
    if (text(each.name)) yield* checked(`${path}.name`, each.name, labelFaults)
    yield* oneOf(`${path}.protocol`, each.protocol, ['SCTP', 'TCP', 'UDP'])
  }
  for (const [endpoint, path] of entries(object, 'endpoints', '')) {
    if (size(endpoint.addresses) === 0) yield required(`${path}.addresses`, 'must contain at least 1 address')
    if (addressType !== 'IPv4' && addressType !== 'IPv6') continue
    for (const [address] of strings(endpoint, 'addresses', path)) {
      const isRight = address.includes(':') === (addressType === 'IPv6')
      if (!isRight) yield invalidValue(`${path}.addresses`, address, `must be an ${addressType} address`)
    }
  }
}
