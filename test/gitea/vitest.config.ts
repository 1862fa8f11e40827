import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The promoter's lane against a real Gitea, which its first run builds. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/gitea/**/*.test.ts'],
    globalSetup: 'test/gitea/gitea-build.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
