import { resolve } from 'node:path'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

/** A lane's configuration: what all lanes share, and its own. */
export function laneConfig(test: NonNullable<ViteUserConfig['test']>): ViteUserConfig {
  return defineConfig({
    root: resolve(import.meta.dirname, '..'),
    // What is polled comes late on a busy machine; vitest itself gives up after a second.
    test: { expect: { poll: { timeout: 20_000 } }, ...test },
  })
}
