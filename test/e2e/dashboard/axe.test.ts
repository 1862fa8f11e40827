import axe from 'axe-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { Visitor, viewNames } from './dashboard-page.ts'
import { dashboardObjects, environmentObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('axe finds no serious fault', { timeout: 180_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of [...dashboardObjects(), ...environmentObjects()]) await world.create(object)
    visitor = await Visitor.arrive(world)
  })
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  /** Serious and critical faults, with the first element of each. */
  const faults = async () => {
    // Not as a script element, which the page's security policy refuses.
    await visitor.page.evaluate(axe.source)
    return visitor.page.evaluate(async () => {
      const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
    })
  }

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)('in any view, %s and %i pixels wide', async (colorScheme, width) => {
    await visitor.open({ colorScheme, viewport: { width, height: 900 } })
    await visitor.page.getByLabel('Token').waitFor()
    expect({ view: 'Sign in', faults: await faults() }).toEqual({ view: 'Sign in', faults: [] })
    await visitor.signIn()
    for (const view of viewNames) {
      await visitor.see(view)
      expect({ view, faults: await faults() }).toEqual({ view, faults: [] })
    }
  })

  it('on the page of an object', async () => {
    await visitor.asAdministrator()
    await visitor.see('Environments')
    await visitor.page.getByRole('link', { name: 'shop-pr-42', exact: true }).click()
    await visitor.page.getByRole('region', { name: 'YAML' }).waitFor()
    expect(await faults()).toEqual([])
  })

  it('in a dialog', async () => {
    await visitor.asAdministrator()
    await visitor.see('Safety')
    await visitor.page.getByRole('button', { name: 'Pause' }).click()
    expect(await faults()).toEqual([])
  })
})
