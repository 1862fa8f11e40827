import { forbidden, invalidValue, required, type FieldError } from '../../types/field-error.ts'
import { checked, given, notNegative, oneOf, port, size, text, type Json } from './checks.ts'
import { portNameFaults } from '../../../../kube/names.ts'

/** Faults of a probe. */
export function* probeFaults(
  probe: Json | undefined,
  path: string,
  { succeedsOnce }: { readonly succeedsOnce: boolean },
): Generator<FieldError> {
  if (!probe) return
  yield* handlerFaults(probe, path)
  for (const key of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ]) {
    yield* notNegative(`${path}.${key}`, probe[key])
  }
  if (typeof probe.terminationGracePeriodSeconds === 'number' && probe.terminationGracePeriodSeconds <= 0) {
    yield invalidValue(
      `${path}.terminationGracePeriodSeconds`,
      probe.terminationGracePeriodSeconds,
      'must be greater than 0',
    )
  }
  if (succeedsOnce && probe.successThreshold !== 1) {
    yield invalidValue(`${path}.successThreshold`, probe.successThreshold, 'must be 1')
  }
}

/** Faults of the handler of a probe or hook: exactly one must be set. */
export function* handlerFaults(handler: Json, path: string): Generator<FieldError> {
  let count = 0
  for (const kind of ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep']) {
    const action = given(handler, kind)
    if (!action) continue
    count++
    if (count > 1) yield forbidden(`${path}.${kind}`, 'may not specify more than 1 handler type')
    else yield* actionFaults(kind, action, `${path}.${kind}`)
  }
  if (count === 0) yield required(path, 'must specify a handler type')
}

function* actionFaults(kind: string, action: Json, path: string): Generator<FieldError> {
  switch (kind) {
    case 'exec':
      if (size(action.command) === 0) yield required(`${path}.command`)
      return
    case 'httpGet':
      if (text(action.path) === '') yield required(`${path}.path`)
      yield* portOrName(`${path}.port`, action.port)
      yield* oneOf(`${path}.scheme`, action.scheme, ['HTTP', 'HTTPS'])
      return
    case 'tcpSocket':
      yield* portOrName(`${path}.port`, action.port)
      return
    case 'grpc':
      yield* port(`${path}.port`, action.port)
  }
}

/** Faults of a port that is a number or a name. */
export function* portOrName(path: string, value: unknown): Generator<FieldError> {
  if (typeof value === 'string') yield* checked(path, value, portNameFaults)
  else yield* port(path, value)
}
