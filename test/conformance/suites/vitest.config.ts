import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The lane of suites that others wrote, which its first run builds. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../../..'),
  test: {
    include: ['test/conformance/suites/*.suite.ts'],
    globalSetup: 'test/conformance/suites/build.ts',
    fileParallelism: false,
    testTimeout: 7_200_000,
    hookTimeout: 60_000,
  },
})
