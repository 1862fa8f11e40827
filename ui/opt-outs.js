/** @import { CleanupCandidate } from '../src/apis/cleanup-candidate.ts' */
/** @import { CleanupOptOut } from '../src/apis/cleanup-opt-out.ts' */
/** @import { Mirror } from './mirror.js' */
import { ask, patch, session, unlessThere } from './api.js'
import { nowText, parseTime } from './time.js'

const path = '/apis/sojourn.dev/v1alpha1/cleanupoptouts'

/** @typedef {CleanupCandidate['spec']['resource']} Resource The resource of a mark, here or in another cluster or cloud. */

/**
 * The live opt-out that names this resource, if any; by the same rules as the server's deletion safeguards.
 * @param {readonly CleanupOptOut[]} optOuts
 * @param {Resource} resource
 * @param {number} now
 */
export function liveOptOut(optOuts, resource, now) {
  return optOuts.find(
    ({ spec, metadata }) =>
      !metadata.deletionTimestamp && (parseTime(spec.expiresAt) ?? Infinity) > now && names(spec, resource),
  )
}

/** @param {CleanupOptOut['spec']} spec @param {Resource} resource */
function names({ resource: given }, resource) {
  if (given?.kind.toLowerCase() !== resource.kind.toLowerCase()) return false
  if (given.apiVersion !== undefined && groupOf(given.apiVersion) !== groupOf(resource.apiVersion)) return false
  if (given.uid !== undefined) return given.uid === resource.uid
  return (
    isSamePlace(given, resource) &&
    (given.name ?? given.id) === resource.name &&
    (given.namespace ?? '') === (resource.namespace ?? '')
  )
}

/** The same name in another cluster is another object. @param {NonNullable<CleanupOptOut['spec']['resource']>} given @param {Resource} resource */
function isSamePlace({ provider = 'kubernetes', cluster, account, region }, resource) {
  if (provider !== resource.provider) return false
  if (cluster !== undefined || provider === 'kubernetes') return (cluster ?? '') === (resource.cluster ?? '')
  return (account ?? resource.account) === resource.account && (region ?? resource.region) === resource.region
}

/** @param {string} apiVersion */
function groupOf(apiVersion) {
  return apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
}

/** The name of a resource's opt-out: the same as that of the link in a notice. @param {Resource} resource */
export async function optOutName({ provider, cluster, account, region, kind, namespace, name, uid }) {
  const parts = [provider, cluster ?? '', account ?? '', region ?? '', kind, namespace ?? '', name, uid]
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(parts)))
  const hex = [...new Uint8Array(digest, 0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const readable = `${kind}-${name}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 180)
  return `keep-${readable}-${hex}`
}

/**
 * Opts a resource out. An ended opt-out is kept as a record; opting out again revives it.
 * @param {Mirror} mirror
 * @param {Resource} resource
 * @param {string} reason
 */
export async function optOut(mirror, resource, reason) {
  const name = await optOutName(resource)
  const spec = {
    resource: { ...resource, ...(resource.provider === 'aws' ? { id: resource.name } : {}) },
    requestedBy: session.user.slice(0, 256),
    ...(reason ? { reason } : {}),
  }
  const revive = () => patch(`${path}/${name}`, { spec: { ...spec, expiresAt: null } })
  const body = { apiVersion: 'sojourn.dev/v1alpha1', kind: 'CleanupOptOut', metadata: { name }, spec }
  const create = () => ask(path, { method: 'POST', body }).catch(unlessThere(revive))
  mirror.put('optOuts', await (mirror.find('optOuts', '', name) ? revive() : create()))
}

/** Ends an opt-out, which is kept as a record. @param {Mirror} mirror @param {CleanupOptOut} optOut */
export async function endOptOut(mirror, { metadata: { name, uid } }) {
  const ended = { metadata: { uid }, spec: { expiresAt: nowText() } }
  mirror.put('optOuts', await patch(`${path}/${encodeURIComponent(name)}`, ended))
}
