import { laneConfig } from '../lane-config.ts'

/** The lane of what an administrator does after the first day: it needs the real Kubernetes programs and helm. */
export default laneConfig({
  include: ['test/daytwo/**/*.test.ts'],
  globalSetup: 'test/kubernetes/build-tools.ts',
  fileParallelism: false,
  testTimeout: 300_000,
  hookTimeout: 120_000,
})
