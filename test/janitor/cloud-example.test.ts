import { it } from 'vitest'
import { aroundOf } from '../examples/around.ts'
import { readExample } from '../examples/example.ts'
import { play } from '../examples/play.ts'
import { realStage, virtualStage } from '../examples/stage.ts'

it('example 10-cloud-images does what it says', async ({ skip }) => {
  const around = await aroundOf('10-cloud-images')
  if (typeof around === 'string') return skip(`SKIPPED: it was NOT played: ${around}`)
  await using standing = around
  const example = readExample('10-cloud-images', around?.instead)
  await using stage = await (example.isReal ? realStage() : virtualStage())
  await play(example, stage, standing)
})
