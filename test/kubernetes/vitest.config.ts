import { laneConfig } from '../lane-config.ts'

/** The lane that needs the real Kubernetes programs, which its first run builds. */
export default laneConfig({
  include: ['test/kubernetes/**/*.test.ts', 'test/conformance/**/*.test.ts'],
  globalSetup: 'test/kubernetes/build-tools.ts',
  fileParallelism: false,
  testTimeout: 180_000,
  hookTimeout: 180_000,
})
