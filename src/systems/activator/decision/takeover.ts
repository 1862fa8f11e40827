import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { type KubeObject, type StoredObject, placeOf } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { portsOf, type EndpointSlice, type ServicePort } from '../model/endpoints.ts'

/** Labels by which a Service finds its pods. */
export type Selector = Readonly<Record<string, string>>

/** Where the EndpointSlices of a Service send its callers. */
export type Destination = 'proxies' | 'pods'

/** The takeover of a Service as the cluster shows it: enough to release the Service. */
export interface TakeoverState {
  readonly service: StoredObject
  /** Its `spec.selector`, if any. */
  readonly selector: Selector | undefined
  /** The selector that the activator moved from the spec to an annotation. */
  readonly savedSelector: Selector | undefined
  /** Of the Service that lists its pods. */
  readonly podsService: 'absent' | 'outdated' | 'current'
  /** EndpointSlices of the Service that the activator wrote. */
  readonly ownSlices: readonly EndpointSlice[]
  /** EndpointSlices of the Service that another controller or a user wrote. */
  readonly foreignSlices: readonly EndpointSlice[]
  /** The slices of the Service that lists its pods. */
  readonly pods: readonly EndpointSlice[]
}

/** A Service that asks to be taken over, or once was, with the objects around it. */
export interface TakeoverObserved extends TakeoverState {
  /** The Service asks for it, it is possible, and this replica is not the last one to stop. */
  readonly wanted: boolean
  /** The listen port at the proxies of each of its ports, by name. */
  readonly proxyPorts: ReadonlyMap<string, number>
  readonly destination: Destination
  /** Addresses of proxies that take connections for all its ports. */
  readonly proxies: readonly string[]
  /** Another writer restored the selector: the activator does not move it again before this time. */
  readonly restUntil: number
}

export type TakeoverStep = { readonly do: 'ensure-pods-service'; readonly selector: Selector } | PlainTakeoverStep

/** A step that carries all it takes to do it. */
export type PlainTakeoverStep =
  | {
      readonly do: 'write-slices'
      readonly to: Destination
      readonly write: readonly KubeObject[]
      readonly remove: readonly EndpointSlice[]
    }
  | { readonly do: 'move-selector'; readonly selector: Selector }
  | { readonly do: 'clear-foreign-slices'; readonly slices: readonly EndpointSlice[] }
  | { readonly do: 'restore-selector'; readonly selector: Selector }
  | { readonly do: 'delete-slices'; readonly slices: readonly EndpointSlice[] }
  | { readonly do: 'delete-pods-service' }
  | { readonly do: 'wait'; readonly because: TakeoverDelay; readonly until?: number }
  | { readonly do: 'rest'; readonly because: 'not-wanted' | 'in-front' | 'bypassed' }

export type TakeoverDelay =
  | 'no-selector'
  | 'no-proxy'
  | 'pods-not-listed'
  | 'selector-reapplied'
  | 'endpoints-of-others'
  | 'not-listed-again'

/**
 * The next step to take a Service over, or to release it. Each step is one write, and a crash after any of them is safe:
 * an endpoint is only removed once another one can serve its callers.
 */
export function decideTakeover(observed: TakeoverObserved, now: number): TakeoverStep {
  return observed.wanted ? take(observed, now) : decideRelease(observed)
}

function take(observed: TakeoverObserved, now: number): TakeoverStep {
  const { selector, savedSelector, ownSlices, foreignSlices, pods } = observed
  const listing = selector ?? savedSelector
  if (!listing) return wait('no-selector')
  if (observed.podsService !== 'current') return { do: 'ensure-pods-service', selector: listing }
  // The shorter way is for those that have been taken over: until then callers go both ways, and the proxies must be one.
  const to = observed.proxies.length === 0 ? 'pods' : selector ? 'proxies' : observed.destination
  const wanted = to === 'proxies' ? [proxiesSlice(observed)] : podSlices(observed)
  if (!wanted.some(hasEndpoints)) return wait('no-proxy')
  const change = difference(ownSlices, wanted)
  if (change) return { do: 'write-slices', to, ...change }
  const leading = foreignSlices.filter(hasEndpoints)
  const leftovers = leading.filter((slice) => kubernetesManagers.has(managerOf(slice)))
  if (leading.length > leftovers.length) return wait('endpoints-of-others')
  if (selector) {
    if (to !== 'proxies') return wait('no-proxy')
    // Else the proxies would not know of pods that callers reach now.
    if (!covers(pods, foreignSlices)) return wait('pods-not-listed')
    if (savedSelector && now < observed.restUntil) return wait('selector-reapplied', observed.restUntil)
    return { do: 'move-selector', selector }
  }
  if (leftovers.length > 0) return { do: 'clear-foreign-slices', slices: leftovers }
  return { do: 'rest', because: to === 'proxies' ? 'in-front' : 'bypassed' }
}

/** The next step to release a Service that was taken over. */
export function decideRelease(observed: TakeoverState): PlainTakeoverStep {
  const { selector, savedSelector, ownSlices, foreignSlices, pods, podsService } = observed
  if (!selector && savedSelector) {
    const wanted = podSlices(observed)
    const change = wanted.some(hasReadyEndpoints) ? difference(ownSlices, wanted) : undefined
    return change ? { do: 'write-slices', to: 'pods', ...change } : { do: 'restore-selector', selector: savedSelector }
  }
  if (ownSlices.length === 0 && podsService === 'absent') return { do: 'rest', because: 'not-wanted' }
  if (!selector) return wait('no-selector')
  // Another writer restored the selector: only the annotation is left to remove.
  if (savedSelector) return { do: 'restore-selector', selector }
  // Otherwise no slice would list the pods for a moment.
  if (!covers(foreignSlices, pods)) return wait('not-listed-again')
  return ownSlices.length > 0 ? { do: 'delete-slices', slices: ownSlices } : { do: 'delete-pods-service' }
}

/** Whether every new connection to a Service passes a proxy of ours. */
export function isInFront({
  selector,
  ownSlices,
  foreignSlices,
}: Pick<TakeoverState, 'selector' | 'ownSlices' | 'foreignSlices'>): boolean {
  const leading = ownSlices.filter(hasEndpoints)
  return !selector && leading.length > 0 && leading.every(leadsToProxies) && !foreignSlices.some(hasEndpoints)
}

/** Whether callers of a Service are led to pods, by slices of ours. */
export function isBypassed({ ownSlices }: Pick<TakeoverState, 'ownSlices'>): boolean {
  return ownSlices.some((slice) => hasEndpoints(slice) && !leadsToProxies(slice))
}

/** How the callers of a warm Service go, and how it has been used. */
export interface DestinationObserved {
  readonly current: Destination
  /** Since when it has been warm, and its callers have gone through the proxies. */
  readonly warmSince: number | undefined
  /** How long that must be before they go straight to the pods; undefined is for ever. */
  readonly bypassAfterMs: number | undefined
  readonly lastUsedAt: number
  /** What the pods say of themselves, where they had to be asked. */
  readonly activity: 'idle' | 'busy' | 'unknown' | undefined
}

/** Where callers go. They return to the proxies once the pods report no use: from then on the proxies see every use. */
export function decideDestination(
  { current, warmSince, bypassAfterMs, lastUsedAt, activity }: DestinationObserved,
  now: number,
): { readonly to: Destination; readonly until: number | undefined } {
  if (warmSince === undefined || bypassAfterMs === undefined) return { to: 'proxies', until: undefined }
  if (current === 'pods')
    return activity === 'idle'
      ? { to: 'proxies', until: undefined }
      : { to: 'pods', until: now + askEveryMs(bypassAfterMs) }
  const warmLongEnoughAt = warmSince + bypassAfterMs
  if (now < warmLongEnoughAt) return { to: 'proxies', until: warmLongEnoughAt }
  // An idle Service needs no shorter path, and would have to return to the proxies at once.
  if (now - lastUsedAt >= bypassAfterMs) return { to: 'proxies', until: now + bypassAfterMs }
  return { to: 'pods', until: now + askEveryMs(bypassAfterMs) }
}

/** How often pods that are reached directly are asked whether they are idle. */
function askEveryMs(bypassAfterMs: number): number {
  return Math.min(30_000, Math.max(1000, bypassAfterMs))
}

const podsSuffix = '-sojourn-pods'

/** The Service through which Kubernetes lists the pods of one that has been taken over. */
export function podsServiceName(name: string): string {
  return `${name}${podsSuffix}`
}

/** The Service whose pods one of this name would list. */
export function podsServiceBase(name: string): string | undefined {
  return name.endsWith(podsSuffix) ? name.slice(0, -podsSuffix.length) : undefined
}

/** Who looks after slices of ours. */
export const sliceManager = 'sojourn'
const managerLabel = 'endpointslice.kubernetes.io/managed-by'
/** Selects slices of ours. */
export const ourSlices = `${managerLabel}=${sliceManager}`
/** Names the Service of a slice. */
export const sliceOwnerLabel = 'kubernetes.io/service-name'

/** Those who list what a selector selects, and leave what they wrote when it is gone. */
const kubernetesManagers: ReadonlySet<string> = new Set([
  'endpointslice-controller.k8s.io',
  'endpointslicemirroring-controller.k8s.io',
  'sojourn-workloads',
])

/** Whether a slice repeats what an Endpoints object says. */
export function isMirrored(slice: EndpointSlice): boolean {
  return managerOf(slice) === 'endpointslicemirroring-controller.k8s.io'
}

/** Whether we made a slice. */
export function isOurSlice(slice: EndpointSlice): boolean {
  return managerOf(slice) === sliceManager
}

function managerOf({ metadata: { labels = {} } }: EndpointSlice): string {
  return labels[managerLabel] ?? ''
}

/** `app=shop,tier=web`, as kubectl writes selectors. */
export function formatSelector(selector: Selector): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(',')
}

export function parseSelector(text: string | undefined): Selector | undefined {
  const pairs = (text ?? '').split(',').map((pair) => pair.trim().split('='))
  if (pairs.some((pair) => pair.length !== 2 || pair[0] === '')) return undefined
  return Object.fromEntries(pairs as [string, string][])
}

/** What a port's callers speak, as far as its Service says: requests are understood, anything else is passed on as it is. */
export function speaksHttp({ appProtocol, name, port }: ServicePort): boolean {
  if (appProtocol !== undefined) return httpProtocols.has(appProtocol)
  return name === undefined || name === '' ? port === 80 : /^http(?:2?(?:-|$))/.test(name)
}

const httpProtocols: ReadonlySet<string> = new Set(['http', 'kubernetes.io/h2c', 'kubernetes.io/ws'])

interface ServiceSpec {
  readonly type?: string
  readonly clusterIP?: string
  readonly ipFamilies?: readonly string[]
  readonly internalTrafficPolicy?: string
  readonly externalTrafficPolicy?: string
  readonly ports?: readonly ServicePort[]
}

/** Why a Service cannot be taken over, if so. */
export function whyNotTakeover({ metadata: { name }, spec }: StoredObject): string | undefined {
  const {
    type,
    clusterIP,
    ipFamilies = [],
    internalTrafficPolicy,
    externalTrafficPolicy,
    ports = [],
  } = (spec ?? {}) as ServiceSpec
  if (type === 'ExternalName') return 'an ExternalName Service has no endpoints'
  if (clusterIP === 'None') return 'callers of a headless Service go to addresses of pods, not to its ports'
  if (ipFamilies.length > 1) return 'a Service with two address families cannot be led to the proxies'
  if (internalTrafficPolicy === 'Local' || externalTrafficPolicy === 'Local')
    return 'with traffic policy Local callers reach only what runs on their own node'
  const other = ports.find(({ protocol = 'TCP' }) => protocol !== 'TCP')
  if (other) return `port ${other.name ?? other.port} is ${other.protocol}; only TCP can be taken over`
  if (ports.length === 0) return 'the Service has no port'
  return name.length + podsSuffix.length > 63 ? `its name must not be longer than ${63 - podsSuffix.length}` : undefined
}

function proxiesSlice({ service, proxies, proxyPorts }: TakeoverObserved): KubeObject {
  const isV6 = proxies.some((address) => address.includes(':'))
  const own = ownSlice(service, `${proxiesSliceName(service.metadata.name)}${isV6 ? '-ipv6' : ''}`)
  return sliceTo(
    own,
    proxies,
    portsOf(service).map(({ name = '', appProtocol }) => ({
      name,
      port: proxyPorts.get(name)!,
      protocol: 'TCP',
      ...(appProtocol === undefined ? {} : { appProtocol }),
    })),
  )
}

/** A slice that leads to these addresses, all of them ready. */
export function sliceTo(slice: KubeObject, addresses: readonly string[], ports: readonly object[]): KubeObject {
  return {
    ...slice,
    addressType: addresses.some((address) => address.includes(':')) ? 'IPv6' : 'IPv4',
    endpoints: addresses.toSorted().map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports,
  }
}

/** The pods' own slices, word for word, for another Service. */
function podSlices({ service, pods }: TakeoverState): KubeObject[] {
  const { name } = service.metadata
  const prefix = `${podsServiceName(name)}-`
  return pods.filter(hasEndpoints).map(({ metadata, addressType = 'IPv4', endpoints, ports }) => {
    const own = metadata.name.startsWith(prefix) ? metadata.name.slice(prefix.length) : metadata.name
    return { ...ownSlice(service, `${name}-sojourn-to-${own}`.slice(0, 253)), addressType, endpoints, ports }
  })
}

function proxiesSliceName(name: string): string {
  return `${name}-sojourn`
}

function leadsToProxies({ metadata: { name, labels = {} } }: EndpointSlice): boolean {
  const own = proxiesSliceName(labels[sliceOwnerLabel] ?? '')
  return name === own || name === `${own}-ipv6`
}

/** A slice that we make for a Service, by default one of that Service itself. */
export function ownSlice(service: StoredObject, name: string, of = service.metadata.name): KubeObject {
  const metadata = ownedMetadata(service, name)
  const labels = { ...metadata.labels, [sliceOwnerLabel]: of, [managerLabel]: sliceManager }
  return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: { ...metadata, labels } }
}

/** Of what we make for a Service: it is ours, and goes with the Service. */
export function ownedMetadata({ metadata: { namespace, uid, name: owner } }: StoredObject, name: string) {
  return {
    ...placeOf({ name, namespace }),
    labels: { ...ownLabel },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: owner, uid }],
  }
}

/** What has to be written and what removed to get from the slices there are to those that are wanted. */
function difference(
  ownSlices: readonly EndpointSlice[],
  wanted: readonly KubeObject[],
): { readonly write: readonly KubeObject[]; readonly remove: readonly EndpointSlice[] } | undefined {
  // A server may write fields in another order.
  const content = (slice: KubeObject) => [
    slice['endpoints'] ?? [],
    slice['ports'] ?? [],
    slice.metadata.ownerReferences,
  ]
  const known = new Map(ownSlices.map((slice) => [slice.metadata.name, content(slice)]))
  const write = wanted.filter((slice) => !deepEqual(known.get(slice.metadata.name ?? ''), content(slice)))
  const names = new Set(wanted.map(({ metadata }) => metadata.name))
  const remove = ownSlices.filter(({ metadata }) => !names.has(metadata.name))
  return write.length === 0 && remove.length === 0 ? undefined : { write, remove }
}

function hasEndpoints(slice: KubeObject): boolean {
  return ((slice['endpoints'] as readonly unknown[] | null | undefined) ?? []).length > 0
}

function hasReadyEndpoints(slice: KubeObject): boolean {
  return readyIn([slice as EndpointSlice]).size > 0
}

function covers(by: readonly EndpointSlice[], what: readonly EndpointSlice[]): boolean {
  const listed = readyIn(by)
  return [...readyIn(what)].every((each) => listed.has(each))
}

/** Each ready address with each of its ports. */
function readyIn(slices: readonly EndpointSlice[]): Set<string> {
  const found = new Set<string>()
  for (const { endpoints, ports } of slices) {
    for (const { addresses = [], conditions = {} } of endpoints ?? []) {
      if (conditions.ready === false || conditions.terminating === true) continue
      for (const { name = '', port } of ports ?? []) found.add(`${addresses[0]} ${name} ${port}`)
    }
  }
  return found
}

function wait(because: TakeoverDelay, until?: number): PlainTakeoverStep {
  return { do: 'wait', because, ...(until === undefined ? {} : { until }) }
}
