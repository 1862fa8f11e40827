import { laneConfig } from '../../lane-config.ts'

/**
 * The lane of suites that others wrote, which its first run builds. Groups of specs run three at a time, because they mostly wait; `-t sig-apps`
 * runs only those of a name.
 */
export default laneConfig({
  include: ['test/conformance/suites/*.suite.ts'],
  globalSetup: ['test/conformance/suites/build.ts', 'test/conformance/suites/operator.ts'],
  fileParallelism: false,
  maxConcurrency: 3,
  // Progress is shown as it is.
  disableConsoleIntercept: true,
  testTimeout: 7_200_000,
  hookTimeout: 60_000,
})
