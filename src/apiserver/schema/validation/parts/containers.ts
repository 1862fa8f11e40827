import {
  duplicate,
  forbidden,
  invalidValue,
  notFoundValue,
  required,
  unsupported,
  type FieldError,
} from '../../types/field-error.ts'
import {
  checked,
  entries,
  given,
  join,
  named,
  notServed,
  number,
  oneOf,
  port,
  size,
  text,
  type Json,
} from './checks.ts'
import { environmentFaults } from './environment.ts'
import { handlerFaults, probeFaults } from './handlers.ts'
import { labelFaults, portNameFaults } from '../../../../kube/names.ts'
import { resourcesFaults } from './resources.ts'

/** The pod that containers are validated in. */
export interface PodContext {
  readonly volumes: ReadonlySet<string>
  readonly isHostNetwork: boolean
}

/** Faults of the containers of a pod; names are unique over all of them. */
export function* containersFaults(spec: Json, path: string, context: PodContext): Generator<FieldError> {
  if (size(spec.containers) === 0) yield required(`${path}.containers`)
  const names = new Set<string>()
  for (const key of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const [container, at] of entries(spec, key, path)) {
      yield* containerFaults(container, at, { ...context, isInit: key === 'initContainers' })
      const name = text(container.name)
      if (name && names.has(name)) yield duplicate(`${at}.name`, name)
      names.add(name)
    }
  }
}

function* containerFaults(
  container: Json,
  path: string,
  context: PodContext & { readonly isInit: boolean },
): Generator<FieldError> {
  const image = text(container.image)
  yield* named(`${path}.name`, container.name, labelFaults)
  if (image === '') yield required(`${path}.image`)
  else if (image.trim() !== image)
    yield invalidValue(`${path}.image`, image, 'must not have leading or trailing whitespace')
  yield* oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ])
  yield* portsFaults(container, path, context)
  yield* environmentFaults(container, path)
  yield* mountsFaults(container, path, context.volumes)
  yield* oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never'])
  yield* resourcesFaults(given(container, 'resources'), `${path}.resources`)
  yield* securityFaults(given(container, 'securityContext'), `${path}.securityContext`)
  const isSidecar = context.isInit && container.restartPolicy === 'Always'
  yield* notServed(container, path, isSidecar ? ['restartPolicyRules'] : ['restartPolicy', 'restartPolicyRules'])
  if (!context.isInit || isSidecar) yield* lifecycleFaults(container, path)
  else yield* initFaults(container, path)
}

function* lifecycleFaults(container: Json, path: string): Generator<FieldError> {
  const lifecycle = given(container, 'lifecycle')
  for (const key of ['postStart', 'preStop']) {
    const handler = given(lifecycle, key)
    if (handler) yield* handlerFaults(handler, `${path}.lifecycle.${key}`)
  }
  yield* probeFaults(given(container, 'livenessProbe'), `${path}.livenessProbe`, { succeedsOnce: true })
  yield* probeFaults(given(container, 'readinessProbe'), `${path}.readinessProbe`, { succeedsOnce: false })
  yield* probeFaults(given(container, 'startupProbe'), `${path}.startupProbe`, { succeedsOnce: true })
}

/** Fields that are forbidden for init containers which are not sidecars. */
function* initFaults(container: Json, path: string): Generator<FieldError> {
  const detail = 'may not be set for init containers without restartPolicy=Always'
  for (const key of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
    if (given(container, key)) yield forbidden(`${path}.${key}`, detail)
  }
}

function* portsFaults(container: Json, path: string, { isHostNetwork }: PodContext): Generator<FieldError> {
  const names = new Set<string>()
  for (const [each, at] of entries(container, 'ports', path)) {
    const name = text(each.name)
    const faults = name ? portNameFaults(name) : []
    if (faults.length > 0) yield* checked(`${at}.name`, name, portNameFaults)
    else if (name && names.has(name)) yield duplicate(`${at}.name`, name)
    names.add(name)
    if (!each.containerPort) yield required(`${at}.containerPort`)
    else yield* port(`${at}.containerPort`, each.containerPort)
    if (each.hostPort) yield* port(`${at}.hostPort`, each.hostPort)
    yield* oneOf(`${at}.protocol`, each.protocol, ['SCTP', 'TCP', 'UDP'])
    if (isHostNetwork && each.hostPort && each.hostPort !== each.containerPort) {
      yield invalidValue(`${at}.hostPort`, each.hostPort, 'must match `containerPort` when `hostNetwork` is true')
    }
  }
}

function* mountsFaults(container: Json, path: string, volumes: ReadonlySet<string>): Generator<FieldError> {
  const paths = new Set<string>()
  for (const [mount, at] of entries(container, 'volumeMounts', path)) {
    const name = text(mount.name)
    const mountPath = text(mount.mountPath)
    if (!name) yield required(`${at}.name`)
    else if (!volumes.has(name)) yield notFoundValue(`${at}.name`, name)
    if (!mountPath) yield required(`${at}.mountPath`)
    else if (paths.has(mountPath)) yield invalidValue(`${at}.mountPath`, mountPath, 'must be unique')
    paths.add(mountPath)
    const subPath = text(mount.subPath)
    const where = `${join(path, 'volumeMounts')}.subPath`
    if (subPath.startsWith('/')) yield invalidValue(where, subPath, 'must be a relative path')
    else if (subPath.split('/').includes('..')) yield invalidValue(where, subPath, "must not contain '..'")
  }
}

function* securityFaults(context: Json | undefined, path: string): Generator<FieldError> {
  if (!context) return
  yield* idFaults(context.runAsUser, `${path}.runAsUser`)
  yield* idFaults(context.runAsGroup, `${path}.runAsGroup`)
  if (context.procMount && context.procMount !== 'Default' && context.procMount !== 'Unmasked') {
    yield unsupported(`${path}.procMount`, context.procMount, ['Default', 'Unmasked'])
  }
  if (context.allowPrivilegeEscalation === false && context.privileged === true) {
    yield invalidValue(path, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true')
  }
}

/** Faults of an optional user or group id: 31 bits, not negative. */
export function* idFaults(id: unknown, path: string): Generator<FieldError> {
  const value = number(id)
  if (value !== undefined && (value < 0 || value > 2_147_483_647)) {
    yield invalidValue(path, value, 'must be between 0 and 2147483647, inclusive')
  }
}
