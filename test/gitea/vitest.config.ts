import { laneConfig } from '../lane-config.ts'

/** The promoter's lane against a real Gitea, which its first run builds. */
export default laneConfig({
  include: ['test/gitea/**/*.test.ts'],
  globalSetup: 'test/gitea/gitea-build.ts',
  testTimeout: 60_000,
  hookTimeout: 120_000,
})
