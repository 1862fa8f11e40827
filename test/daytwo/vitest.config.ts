import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The lane of what an administrator does after the first day: it needs the real Kubernetes programs and helm. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/daytwo/**/*.test.ts'],
    globalSetup: 'test/kubernetes/build-tools.ts',
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
})
