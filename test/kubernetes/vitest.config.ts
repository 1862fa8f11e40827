import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The lane that needs the real Kubernetes programs, which its first run builds. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/kubernetes/**/*.test.ts', 'test/conformance/**/*.test.ts'],
    globalSetup: 'test/kubernetes/build-tools.ts',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
