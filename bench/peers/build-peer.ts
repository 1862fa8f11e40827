import { join } from 'node:path'
import { buildGo } from '../../scripts/reference-cluster/go-build.ts'

export type Peer = 'go-heap' | 'client-go-reflector'

/** The path of a peer's program, built from its sources as they are now; throws `Unavailable` without Go. */
export async function buildPeer(peer: Peer): Promise<string> {
  const output = join(import.meta.dirname, '.cache', peer)
  await buildGo({ module: join(import.meta.dirname, peer), package: '.', output })
  return output
}
