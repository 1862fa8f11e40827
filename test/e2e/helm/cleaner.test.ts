import { afterAll, beforeAll } from 'vitest'
import { recordedCreators } from '../../world.ts'
import { describeWith, Session } from '../kubectl/session.ts'
import { itUninstallsWhatHelmInstalled } from './uninstalls.ts'

await describeWith(['helm'], 'a Cleaner on the embedded server', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start('helm', [recordedCreators])
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  itUninstallsWhatHelmInstalled(() => ({
    transport: session.server.transport,
    helm: (command, env = {}) => session.run(command, { env }),
  }))
})
