import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import { forbidden } from '../../apiserver/objects/contract/failures.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { Followed } from './followed.ts'
import { podAmounts, quantityOf, type Amounts, type Container, type PodSpec } from './amounts.ts'

export interface LimitRange extends StoredObject {
  readonly spec: { readonly limits: readonly Limit[] }
}

interface Limit extends Partial<
  Record<'min' | 'max' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio', Amounts>
> {
  readonly type: string
}

/** Applies the LimitRanges of a namespace: defaults of containers; minimum, maximum and ratio, in kube-apiserver's words. */
export function limitRangeAdmission(followed: Followed): AdmissionHook {
  const limitsOf = ({ operation, subresource, namespace }: Review) =>
    operation === 'DELETE' || subresource !== '' || !followed.has('limitranges')
      ? []
      : followed
          .of<LimitRange>('limitranges')
          .filter(({ metadata }) => metadata.namespace === namespace)
          .flatMap(({ spec }) => spec.limits)
  return {
    mutate(review) {
      const limits = review.type.resource === 'pods' && !review.old ? limitsOf(review) : []
      const ours = limits.filter(({ type }) => type === 'Container')
      return ours.length === 0 ? review.object : ours.reduce(withDefaults, review.object)
    },
    validate(review) {
      const { type, name, object, old } = review
      const isPod = type.resource === 'pods' && !old
      if (!object || (!isPod && type.resource !== 'persistentvolumeclaims')) return
      const faults = limitsOf(review).flatMap((limit) => [...faultsOf(limit, object, isPod)])
      if (faults.length > 0)
        throw forbidden(type, name, faults.length === 1 ? (faults[0] ?? '') : `[${faults.join(', ')}]`)
    },
  }
}

function withDefaults(pod: KubeObject, { default: limits = {}, defaultRequest: requests = {} }: Limit): KubeObject {
  const spec = (pod.spec ?? {}) as PodSpec
  const filled = (containers: readonly Container[]) =>
    containers.map((container) => {
      const { resources } = container
      const both = { limits: { ...limits, ...resources?.limits }, requests: { ...requests, ...resources?.requests } }
      return { ...container, resources: { ...resources, ...both } }
    })
  const { containers = [], initContainers } = spec
  const inits = initContainers ? { initContainers: filled(initContainers) } : {}
  return { ...pod, spec: { ...spec, containers: filled(containers), ...inits } }
}

function* faultsOf(limit: Limit, object: KubeObject, isPod: boolean): Generator<string> {
  const spec = (object.spec ?? {}) as PodSpec & Container
  const { containers = [], initContainers = [] } = spec
  if (limit.type === 'PersistentVolumeClaim' && !isPod) yield* claimFaults(limit, spec.resources?.requests ?? {})
  if (limit.type === 'Container' && isPod)
    for (const { resources: { requests = {}, limits = {} } = {} } of [...containers, ...initContainers])
      yield* amountFaults(limit, requests, limits)
  if (limit.type === 'Pod' && isPod)
    yield* amountFaults(limit, podAmounts(spec, 'requests'), podAmounts(spec, 'limits'))
}

function* claimFaults({ type, min = {}, max = {} }: Limit, requests: Amounts): Generator<string> {
  yield* amountFaults({ type, min }, requests, {})
  for (const [name, most] of Object.entries(max))
    if (isMore(requests[name], most))
      yield `maximum ${name} usage per ${type} is ${most}, but request is ${requests[name]}`
}

const isMore = (left: string | undefined, right: string | undefined) => quantityOf(left).nanos > quantityOf(right).nanos

function* amountFaults(limit: Limit, requests: Amounts, limits: Amounts): Generator<string> {
  const { type, min = {}, max = {}, maxLimitRequestRatio = {} } = limit
  for (const [name, least] of Object.entries(min)) {
    const [request, top] = [requests[name], limits[name]]
    const start = `minimum ${name} usage per ${type} is ${least}`
    if (request === undefined) yield `${start}.  No request is specified`
    else if (isMore(least, request)) yield `${start}, but request is ${request}`
    else if (top !== undefined && isMore(least, top)) yield `${start}, but limit is ${top}`
  }
  for (const [name, most] of Object.entries(max)) {
    const [request, top] = [requests[name], limits[name]]
    const start = `maximum ${name} usage per ${type} is ${most}`
    if (top === undefined) yield `${start}.  No limit is specified`
    else if (isMore(top, most)) yield `${start}, but limit is ${top}`
    else if (isMore(request, most)) yield `${start}, but request is ${request}`
  }
  for (const [name, most] of Object.entries(maxLimitRequestRatio)) {
    const [request, top] = [quantityOf(requests[name]).nanos, quantityOf(limits[name]).nanos]
    const start = `${name} max limit to request ratio per ${type} is ${most}, but`
    const ratio = request === 0n ? 0 : Number((top * 1000n) / request) / 1000
    if (request === 0n) yield `${start} no request is specified or request is 0`
    else if (top === 0n) yield `${start} no limit is specified or limit is 0`
    else if (ratio > Number(most)) yield `${start} provided ratio is ${ratio.toFixed(6)}`
  }
}
