import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The lane that builds the container image: needs buildah and root, and Debian's packages and npm's registry within reach. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: { include: ['test/image/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 900_000 },
})
