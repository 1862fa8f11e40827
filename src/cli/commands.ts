import { approve } from './approve.ts'
import { cascade } from './cascade.ts'
import type { Command } from './command.ts'
import { completion } from './completion.ts'
import { demo } from './demo.ts'
import { departures } from './departures.ts'
import { drain } from './drain.ts'
import { explain } from './explain.ts'
import { forecast } from './forecast.ts'
import { importCommand } from './import.ts'
import { install } from './install.ts'
import { optIn, optOut } from './opt-out.ts'
import { restore } from './restore.ts'
import { run } from './run.ts'
import { status } from './status.ts'
import { up } from './up.ts'

/** Every command, in the order in which help shows them. */
export const commands: readonly Command[] = [
  up,
  run,
  install,
  demo,
  status,
  explain,
  forecast,
  cascade,
  departures,
  restore,
  drain,
  approve,
  optOut,
  optIn,
  importCommand,
  completion,
]
