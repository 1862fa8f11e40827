import { duplicate, forbidden, invalidValue, required, unsupported, type FieldError } from '../../types/field-error.ts'
import {
  at as part,
  checkedIfGiven,
  entries,
  given,
  named,
  notServed,
  number,
  oneOf,
  oneOfIfGiven,
  size,
  text,
  type Json,
} from './checks.ts'
import { containersFaults, idFaults } from './containers.ts'
import { annotationsFaults, labelsFaults } from './metadata.ts'
import { labelFaults, labelValueFaults, qualifiedNameFaults, subdomainFaults } from '../../../../kube/names.ts'
import { selectorFaults } from './selectors.ts'

/** Faults of a pod template. Its Pods get a volume for each of `claims` as well. */
export function* templateFaults(template: Json, path: string, claims: readonly string[] = []): Generator<FieldError> {
  const metadata = given(template, 'metadata')
  yield* labelsFaults(`${path}.metadata.labels`, metadata?.labels)
  yield* annotationsFaults(`${path}.metadata.annotations`, metadata?.annotations)
  yield* podSpecFaults(part(template, 'spec'), `${path}.spec`, claims)
}

/** Faults of a pod spec with defaults applied. */
export function* podSpecFaults(spec: Json, path: string, claims: readonly string[] = []): Generator<FieldError> {
  const volumes = new Set([...claims, ...entries(spec, 'volumes', path).map(([volume]) => text(volume.name))])
  yield* notServed(spec, path, ['resourceClaims'])
  yield* volumesFaults(spec, path)
  yield* containersFaults(spec, path, { volumes, isHostNetwork: spec.hostNetwork === true })
  yield* oneOf(`${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never'])
  yield* oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'])
  if (spec.dnsPolicy === 'None' && !given(spec, 'dnsConfig')) {
    yield required(`${path}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None')
  }
  yield* labelsFaults(`${path}.nodeSelector`, spec.nodeSelector)
  yield* checkedIfGiven(`${path}.nodeName`, spec.nodeName, subdomainFaults)
  yield* checkedIfGiven(`${path}.serviceAccountName`, spec.serviceAccountName, subdomainFaults)
  const deadline = number(spec.activeDeadlineSeconds)
  if (deadline !== undefined && (deadline < 1 || deadline > 2_147_483_647)) {
    yield invalidValue(`${path}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive')
  }
  yield* checkedIfGiven(`${path}.hostname`, spec.hostname, labelFaults)
  yield* checkedIfGiven(`${path}.subdomain`, spec.subdomain, labelFaults)
  for (const [toleration, at] of entries(spec, 'tolerations', path)) yield* tolerationFaults(toleration, at)
  yield* podSecurityFaults(given(spec, 'securityContext'), `${path}.securityContext`)
  yield* affinityFaults(given(spec, 'affinity'), `${path}.affinity`)
  for (const [spread, at] of entries(spec, 'topologySpreadConstraints', path)) yield* spreadFaults(spread, at)
}

const volumeKeys = new Set(['name'])
const requiredInVolumes: Readonly<Record<string, string>> = {
  configMap: 'name',
  secret: 'secretName',
  persistentVolumeClaim: 'claimName',
  hostPath: 'path',
}

function* volumesFaults(spec: Json, path: string): Generator<FieldError> {
  const names = new Set<string>()
  for (const [volume, at] of entries(spec, 'volumes', path)) {
    const sources = Object.keys(volume).filter((key) => !volumeKeys.has(key))
    for (const [index, source] of sources.toSorted(bySource).entries()) {
      if (index > 0) yield forbidden(`${at}.${source}`, 'may not specify more than 1 volume type')
      const needed = requiredInVolumes[source]
      if (needed && index === 0 && text(part(volume, source)[needed]) === '')
        yield required(`${at}.${source}.${needed}`)
    }
    const name = text(volume.name)
    yield* named(`${at}.name`, name, labelFaults)
    if (name && names.has(name)) yield duplicate(`${at}.name`, name)
    names.add(name)
  }
}

/** kube-apiserver checks emptyDir first, then hostPath. */
function bySource(one: string, other: string): number {
  const rank = (source: string): number => ['emptyDir', 'hostPath'].indexOf(source) + 1 || 9
  return rank(one) - rank(other)
}

function* tolerationFaults(toleration: Json, path: string): Generator<FieldError> {
  const { key, operator, value, effect } = toleration
  if (text(key)) yield* checkedIfGiven(`${path}.key`, key, qualifiedNameFaults)
  else if (operator !== 'Exists') {
    yield invalidValue(
      `${path}.operator`,
      text(operator),
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    )
  }
  switch (text(operator)) {
    case '':
    case 'Equal':
      yield* checkedIfGiven(`${path}.operator`, value, labelValueFaults)
      break
    case 'Exists':
      if (text(value)) yield invalidValue(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'")
      break
    default:
      yield unsupported(`${path}.operator`, operator, ['Equal', 'Exists'])
  }
  yield* oneOfIfGiven(`${path}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
}

const sysctlFormat = String.raw`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`
const sysctlName = new RegExp(sysctlFormat)
const sysctlFaults = (name: string) =>
  name.length <= 253 && sysctlName.test(name)
    ? []
    : [`must have at most 253 characters and match regex ${sysctlFormat}`]

function* podSecurityFaults(context: Json | undefined, path: string): Generator<FieldError> {
  for (const key of ['runAsUser', 'runAsGroup', 'fsGroup']) yield* idFaults(context?.[key], `${path}.${key}`)
  const names = new Set<string>()
  for (const [{ name }, at] of entries(context, 'sysctls', path)) {
    yield* named(`${at}.name`, name, sysctlFaults)
    if (text(name) && names.has(text(name))) yield duplicate(`${at}.name`, name)
    names.add(text(name))
  }
}

function* affinityFaults(affinity: Json | undefined, path: string): Generator<FieldError> {
  const node = given(given(affinity, 'nodeAffinity'), 'requiredDuringSchedulingIgnoredDuringExecution')
  const nodePath = `${path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`
  if (node && size(node.nodeSelectorTerms) === 0) {
    yield required(`${nodePath}.nodeSelectorTerms`, 'must have at least one node selector term')
  }
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const key = 'requiredDuringSchedulingIgnoredDuringExecution'
    for (const [term, at] of entries(given(affinity, kind), key, `${path}.${kind}`)) {
      yield* selectorFaults(`${at}.labelSelector`, given(term, 'labelSelector'))
      if (!text(term.topologyKey)) yield required(`${at}.topologyKey`, 'can not be empty')
    }
  }
}

function* spreadFaults(spread: Json, path: string): Generator<FieldError> {
  const skew = number(spread.maxSkew) ?? 0
  if (skew <= 0) yield invalidValue(`${path}.maxSkew`, skew, 'must be greater than zero')
  if (!text(spread.topologyKey)) yield required(`${path}.topologyKey`, 'can not be empty')
  yield* oneOf(`${path}.whenUnsatisfiable`, spread.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway'])
  yield* selectorFaults(`${path}.labelSelector`, given(spread, 'labelSelector'))
}
