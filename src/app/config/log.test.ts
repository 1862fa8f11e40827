import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('tells what failed while nothing waited for it, and goes on', async () => {
  const program = `
    import { logUnhandled } from '${new URL('log.ts', import.meta.url).href}'
    logUnhandled({ error: (message, { error }) => console.log(message, error.split('\\n')[0]) })
    Promise.reject(new Error('lost'))
    setTimeout(() => console.log('goes on'), 10)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout.split('\n')).toEqual(['internal error Error: lost', 'goes on', ''])
})
