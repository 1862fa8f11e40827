import { existsSync } from 'node:fs'
import { giteaProgram } from '../gitea/gitea-build.ts'
import { describePromotions } from './promotions.ts'

if (!existsSync(giteaProgram))
  console.warn(
    '\n*** Flux promotes on the forge of the tests, NOT on a real Gitea: run "npm run test:gitea" first to build one\n',
  )

describePromotions('the embedded server')
