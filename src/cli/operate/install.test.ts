import { expect, it } from 'vitest'
import { main } from '../program.ts'

async function install(...words: readonly string[]) {
  let [out, err] = ['', '']
  const code = await main(['install', ...words], {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env: {},
    now: () => 0,
    isTerminal: false,
    isErrTerminal: false,
    colours: false,
    width: 100,
    height: 50,
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

it('says which image the pods will use, unless --image names one or there are no pods', async () => {
  const { code, out, err } = await install()
  expect([code, err]).toEqual([0, expect.stringContaining('sojourn:latest: build it with deploy/Dockerfile')])
  expect(out).toContain('image: sojourn:latest')
  expect(await install('--image', 'mine:1', '--only', 'cleaner')).toMatchObject({ code: 0, err: '' })
  expect(await install('--crds-only')).toMatchObject({ code: 0, err: '', out: expect.not.stringContaining('image:') })
})

it('refuses an invalid number of pods, naming the flag', async () => {
  expect(await install('--replicas', 'many')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('--replicas must be a whole number'),
  })
})
