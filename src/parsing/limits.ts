/** What one foreign text may cost. */
export interface Limits {
  /** Of the text, and of all strings of the value with aliases written out. */
  readonly bytes: number
  /** Of a compressed text, unzipped. */
  readonly unzippedBytes?: number
  readonly depth: number
  /** Values, each counted as often as it is reached. */
  readonly nodes: number
  readonly aliases: number
  readonly documents: number
  /** Of processor time in the parsing thread. */
  readonly timeMs: number
}

const kib = 1024
const mib = 1024 * kib

/** The limits of every format that people with few rights can write. docs/decisions/0022 says how they were chosen. */
export const limits = {
  apiYaml: { bytes: 3 * mib, depth: 100, nodes: 200_000, aliases: 100, documents: 1, timeMs: 1000 },
  apiJson: { bytes: 3 * mib, depth: 1000, nodes: 500_000, aliases: 0, documents: 1, timeMs: 1000 },
  apiProtobuf: { bytes: 3 * mib, depth: 100, nodes: 500_000, aliases: 0, documents: 1, timeMs: 1000 },
  /** A Secret holds up to 1 MiB, as base64 of base64. The manifests inside are YAML of their own. */
  helmRecord: {
    bytes: 3 * mib,
    unzippedBytes: 16 * mib,
    depth: 100,
    nodes: 500_000,
    aliases: 0,
    documents: 1,
    timeMs: 5000,
  },
  helmManifest: { bytes: 4 * mib, depth: 100, nodes: 500_000, aliases: 1000, documents: 2000, timeMs: 5000 },
  departurePage: {
    bytes: 3 * mib,
    unzippedBytes: 8 * mib,
    depth: 100,
    nodes: 200_000,
    aliases: 0,
    documents: 100_000,
    timeMs: 2000,
  },
  /** Of a server of others; each caller asks for fewer bytes, and the values are limited by the length. */
  answer: { bytes: 32 * mib, depth: 100, nodes: 2 * mib, aliases: 0, documents: 1, timeMs: 2000 },
  /** `unzippedBytes` of all objects together; one object is limited by `packObjectBytes`, `depth` is that of chains of deltas. */
  gitPack: {
    bytes: 64 * mib,
    unzippedBytes: 256 * mib,
    depth: 50,
    nodes: 100_000,
    aliases: 0,
    documents: 1,
    timeMs: 30_000,
  },
  kubeconfig: { bytes: 256 * kib, depth: 20, nodes: 5000, aliases: 0, documents: 1, timeMs: 200 },
  /** What the person at the terminal names as a file of their own. */
  ownFile: { bytes: 16 * mib, depth: 100, nodes: 500_000, aliases: 10_000, documents: 10_000, timeMs: 30_000 },
} as const satisfies Record<string, Limits>

/** One object of a git pack. */
export const packObjectBytes = 16 * mib
