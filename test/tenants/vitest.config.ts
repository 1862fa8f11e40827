import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The attacks of tenants, against the embedded server and against a real kube-apiserver with the installed accounts. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/tenants/**/*.test.ts'],
    globalSetup: 'test/kubernetes/build-tools.ts',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 180_000,
  },
})
