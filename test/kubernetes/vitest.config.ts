import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The lane that needs real Kubernetes binaries. The first run builds them, so the time limits are those of a compiler. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/kubernetes/**/*.test.ts', 'test/conformance/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 40 * 60_000,
  },
})
