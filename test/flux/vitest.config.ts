import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The promoter's lane with Flux's own controllers, which its first run builds. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/flux/**/*.test.ts'],
    globalSetup: 'test/flux/flux-build.ts',
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
