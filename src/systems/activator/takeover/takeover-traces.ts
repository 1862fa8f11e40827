import type { StoredObject } from '../../../kube/object.ts'
import { isOurs } from '../cluster/act.ts'
import { annotation } from '../model/annotations.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { isOurSlice, parseSelector, podsServiceName, type Selector, type TakeoverTraces } from '../decision/takeover.ts'

/** Where the objects around a Service are looked up. */
export interface TakeoverWorld {
  readonly service: (namespace: string, name: string) => StoredObject | undefined
  /** The slices of the Service of that name. */
  readonly slices: (namespace: string, name: string) => readonly EndpointSlice[]
}

/** What there is of the takeover of a Service. */
export function tracesOf(world: TakeoverWorld, service: StoredObject): TakeoverTraces {
  const { namespace = '', name, annotations = {} } = service.metadata
  const selector = selectorOf(service)
  const pods = podsServiceOf(world, service)
  return {
    service,
    selector,
    kept: parseSelector(annotations[annotation.selector]) ?? (selector ? undefined : pods && selectorOf(pods)),
    podsService: pods ? 'current' : 'absent',
    ...slicesOf(world, service),
    pods: world.slices(namespace, podsServiceName(name)),
  }
}

/** Whether anything of a takeover is left of a Service, or it has been begun. */
export function isTraced(world: TakeoverWorld, service: StoredObject): boolean {
  // Companions have slices of ours, too, and nothing to be given back.
  if (isOurs(service)) return false
  if (podsServiceOf(world, service) || slicesOf(world, service).ours.length > 0) return true
  return annotation.selector in (service.metadata.annotations ?? {}) && !selectorOf(service)
}

/** The Service that we made to have the pods of this one listed. */
export function podsServiceOf(world: TakeoverWorld, { metadata }: StoredObject): StoredObject | undefined {
  const found = world.service(metadata.namespace ?? '', podsServiceName(metadata.name))
  return found && isOurs(found) ? found : undefined
}

export function slicesOf(
  world: TakeoverWorld,
  { metadata: { namespace = '', name } }: StoredObject,
): Pick<TakeoverTraces, 'ours' | 'strangers'> {
  const all = world.slices(namespace, name)
  return { ours: all.filter(isOurSlice), strangers: all.filter((slice) => !isOurSlice(slice)) }
}

export function selectorOf({ spec }: StoredObject): Selector | undefined {
  const { selector } = (spec ?? {}) as { readonly selector?: Selector }
  return selector && Object.keys(selector).length > 0 ? selector : undefined
}
