import { laneConfig } from '../../lane-config.ts'

/** The lane of suites that others wrote, which its first run builds. */
export default laneConfig({
  include: ['test/conformance/suites/*.suite.ts'],
  globalSetup: ['test/conformance/suites/build.ts', 'test/conformance/suites/operator.ts'],
  fileParallelism: false,
  testTimeout: 7_200_000,
  hookTimeout: 60_000,
})
