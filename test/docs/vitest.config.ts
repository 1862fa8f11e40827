import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The lane that does what the documentation says, on the real product, in real time. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: { include: ['test/docs/**/*.test.ts'], fileParallelism: false, testTimeout: 600_000, hookTimeout: 120_000 },
})
