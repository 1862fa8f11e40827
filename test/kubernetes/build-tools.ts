import { Unavailable } from '../../scripts/reference-cluster/go-build.ts'
import { ensureTool, toolNames } from '../../scripts/reference-cluster/tools.ts'

/** Runs before the lane: compiling takes minutes, and no test's time limit allows for that. */
export async function setup(): Promise<void> {
  try {
    for (const tool of toolNames) await ensureTool(tool)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.warn(`\n*** Tests that need real Kubernetes are SKIPPED: ${error.message}\n`)
  }
}
