import { laneConfig } from '../lane-config.ts'

/** The lane that builds the container image: needs buildah and root, and Debian's packages and npm's registry within reach. */
export default laneConfig({ include: ['test/image/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 900_000 })
