import { asPod } from './operate/as-pod.ts'
import { approve } from './act/approve.ts'
import { cascade } from './show/cascade.ts'
import type { Command } from './terminal/command.ts'
import { completion } from './completion.ts'
import { dashboard } from './operate/dashboard.ts'
import { demo } from './operate/demo.ts'
import { departures } from './show/departures.ts'
import { drain } from './act/drain.ts'
import { env } from './show/env.ts'
import { janitor } from './act/janitor.ts'
import { keep } from './act/keep.ts'
import { explain } from './show/explain.ts'
import { forecast } from './show/forecast.ts'
import { importCommand } from './operate/import.ts'
import { install } from './operate/install.ts'
import { optIn, optOut } from './act/opt-out.ts'
import { sleep, wake } from './act/power.ts'
import { promote, resume, retry, rollback, suspend } from './act/pipeline-requests.ts'
import { restore } from './act/restore.ts'
import { run } from './operate/run.ts'
import { scan } from './show/scan.ts'
import { savings } from './show/savings.ts'
import { status } from './show/status.ts'
import { up } from './operate/up.ts'
import { version } from './show/version.ts'

/** Every command, in the order in which help shows them. */
export const commands: readonly Command[] = [
  up,
  run,
  install,
  demo,
  asPod,
  dashboard,
  status,
  env,
  explain,
  scan,
  forecast,
  savings,
  cascade,
  departures,
  restore,
  wake,
  sleep,
  drain,
  keep,
  janitor,
  approve,
  promote,
  rollback,
  retry,
  suspend,
  resume,
  optOut,
  optIn,
  importCommand,
  completion,
  version,
]
