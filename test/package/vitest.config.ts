import { laneConfig } from '../lane-config.ts'

/** `npm run test:package`: the npm package and the executable, built, installed and run as a stranger would. */
export default laneConfig({
  include: ['test/package/**/*.test.ts'],
  globalSetup: ['test/package/build.ts'],
  fileParallelism: false,
  testTimeout: 180_000,
  hookTimeout: 300_000,
})
