import { laneConfig } from '../lane-config.ts'

/** The promoter's lane with Flux's own reconcilers, which its first run builds. */
export default laneConfig({
  include: ['test/flux/**/*.test.ts'],
  globalSetup: 'test/flux/flux-build.ts',
  // A file for each API server; both wait for Flux more than they compute.
  maxWorkers: 2,
  testTimeout: 900_000,
  hookTimeout: 900_000,
})
