import { isLowerVersion } from '../../../kube/semver.ts'

/**
 * What a revision is, whatever its spelling. Flux writes one commit as `main@sha1:X`, `sha1:X` or `main/X`, Argo CD as
 * `X`; an OCI artifact is its digest. Chart versions may have a leading `v`.
 */
export function identityOf(revision: string): string {
  const hash = /(?:^|[:/])([0-9a-f]{64}|[0-9a-f]{40})$/.exec(revision)
  return hash?.[1] ?? revision.replace(/^v(?=\d+\.\d+\.\d+)/, '')
}

export function isSameRevision(left: string | undefined, right: string | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && identityOf(left) === identityOf(right))
}

/** The commit a revision names; undefined for versions and OCI digests. */
export function commitOf(revision: string): string | undefined {
  const identity = identityOf(revision)
  return /^[0-9a-f]{40}$/.test(identity) ? identity : undefined
}

/** What is written at a marker unless the pipeline or the marker says otherwise: a commit's hash, a digest, else the revision. */
export function defaultValue(revision: string): string {
  return commitOf(revision) ?? /sha256:[0-9a-f]{64}$/.exec(revision)?.[0] ?? revision
}

/** The named part: `6.7.0` of `6.7.0@sha256:…`, `main` of `main@sha1:…`; else the revision. */
export function tagOf(revision: string): string {
  return /^([^@]+)@sha\d+:/.exec(revision)?.[1] ?? revision
}

/** Whether the version in a revision is lower: `1.0.0@sha256:…` than `1.1.0@sha256:…`, too. */
export function isLowerRevision(revision: string, than: string): boolean {
  return isLowerVersion(tagOf(revision), tagOf(than))
}

/** For people: hashes cut to seven digits, as git does. */
export function shortRevision(revision: string): string {
  return revision.replace(/[0-9a-f]{40,64}/g, (hash) => hash.slice(0, 7))
}
