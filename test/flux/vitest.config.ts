import { laneConfig } from '../lane-config.ts'

/** The promoter's lane with Flux's own controllers, which its first run builds. */
export default laneConfig({
  include: ['test/flux/**/*.test.ts'],
  globalSetup: 'test/flux/flux-build.ts',
  fileParallelism: false,
  testTimeout: 300_000,
  hookTimeout: 300_000,
})
