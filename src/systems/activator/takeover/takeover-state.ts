import type { StoredObject } from '../../../kube/object.ts'
import { isOurs } from '../cluster/act.ts'
import { annotation } from '../model/annotations.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { isOurSlice, parseSelector, podsServiceName, type Selector, type TakeoverState } from '../decision/takeover.ts'

/** Where the objects around a Service are looked up. */
export interface TakeoverLookup {
  readonly service: (namespace: string, name: string) => StoredObject | undefined
  /** The slices of the Service of that name. */
  readonly slices: (namespace: string, name: string) => readonly EndpointSlice[]
}

/** What there is of the takeover of a Service. */
export function takeoverStateOf(lookup: TakeoverLookup, service: StoredObject): TakeoverState {
  const { namespace = '', name, annotations = {} } = service.metadata
  const selector = selectorOf(service)
  const pods = podsServiceOf(lookup, service)
  return {
    service,
    selector,
    savedSelector: parseSelector(annotations[annotation.selector]) ?? (selector ? undefined : pods && selectorOf(pods)),
    podsService: pods ? 'current' : 'absent',
    ...slicesOf(lookup, service),
    pods: lookup.slices(namespace, podsServiceName(name)),
  }
}

/** Whether anything of a takeover is left of a Service, or it has been begun. */
export function hasTakeoverState(lookup: TakeoverLookup, service: StoredObject): boolean {
  // Companions have slices of ours, too, and nothing to be given back.
  if (isOurs(service)) return false
  if (podsServiceOf(lookup, service) || slicesOf(lookup, service).ownSlices.length > 0) return true
  return annotation.selector in (service.metadata.annotations ?? {}) && !selectorOf(service)
}

/** The Service that we made to have the pods of this one listed. */
export function podsServiceOf(lookup: TakeoverLookup, { metadata }: StoredObject): StoredObject | undefined {
  const found = lookup.service(metadata.namespace ?? '', podsServiceName(metadata.name))
  return found && isOurs(found) ? found : undefined
}

export function slicesOf(
  lookup: TakeoverLookup,
  { metadata: { namespace = '', name } }: StoredObject,
): Pick<TakeoverState, 'ownSlices' | 'foreignSlices'> {
  const all = lookup.slices(namespace, name)
  return { ownSlices: all.filter(isOurSlice), foreignSlices: all.filter((slice) => !isOurSlice(slice)) }
}

export function selectorOf({ spec }: StoredObject): Selector | undefined {
  const { selector } = (spec ?? {}) as { readonly selector?: Selector }
  return selector && Object.keys(selector).length > 0 ? selector : undefined
}
