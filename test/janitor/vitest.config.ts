import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The janitor's lane with real parts around it: moto, mail and web servers, processes that are killed. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/janitor/**/*.test.ts'],
    env: { LANE: 'janitor' },
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
})
