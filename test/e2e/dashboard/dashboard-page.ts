import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { launchChromium } from './chromium.ts'
import type { DashboardWorld } from './dashboard-world.ts'

/** A user at the dashboard, in a real browser. */
export class Visitor implements AsyncDisposable {
  /** Errors that the browser logged. A test removes those that it provokes. */
  complaints: string[] = []
  #page: Page | undefined
  #user: string | undefined
  readonly #browser: Browser
  readonly #world: DashboardWorld

  private constructor(browser: Browser, world: DashboardWorld) {
    this.#browser = browser
    this.#world = world
  }

  static async arrive(world: DashboardWorld): Promise<Visitor> {
    return new Visitor(await launchChromium(), world)
  }

  get page(): Page {
    if (!this.#page) throw new Error('open it first')
    return this.#page
  }

  async open(options: BrowserContextOptions = {}): Promise<void> {
    await this.#page?.context().close()
    this.#user = undefined
    const context = await this.#browser.newContext({ ignoreHTTPSErrors: true, ...options })
    context.setDefaultTimeout(15_000)
    const page = await context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.complaints.push(error.message))
    page.on('dialog', (dialog) => {
      this.complaints.push(`markup of the API ran: ${dialog.message()}`)
      void dialog.dismiss()
    })
    this.#page = page
    await page.goto(this.#world.url)
  }

  async signIn(user = 'system:admin'): Promise<void> {
    await this.page.getByLabel('Token').fill(this.#world.tokens.get(user) ?? '')
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.go('Overview')
    await this.page.getByRole('option', { name: /preview-142/ }).waitFor()
    this.#user = user
  }

  /** Stays on the open page if the administrator is signed in already. */
  async asAdministrator(): Promise<void> {
    if (this.#user === 'system:admin') return
    await this.open()
    await this.signIn()
  }

  async go(view: string): Promise<void> {
    await this.page.getByRole('link', { name: view, exact: true }).click()
    await this.page
      .getByRole('link', { name: view, exact: true })
      .and(this.page.locator('[aria-current=page]'))
      .waitFor()
  }

  /** Opens a view and waits until it has loaded; the forecast takes the longest. */
  async see(view: string): Promise<void> {
    await this.go(view)
    await this.page.getByRole('heading', { level: 1 }).waitFor()
    await this.page.getByText('Forecasting…').waitFor({ state: 'detached', timeout: 60_000 })
  }

  async inDialog(button: string): Promise<void> {
    await this.page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click()
  }

  /** Removes the errors that a test provoked. */
  forgive(text: string): void {
    this.complaints = this.complaints.filter((complaint) => !complaint.includes(text))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}

/** The views, by their names in the navigation. */
export const viewNames = [
  'Environments',
  'Overview',
  'Forecast',
  'Pipelines',
  'Services',
  'Cleanup',
  'Departures',
  'Dependencies',
  'Savings',
  'Safety',
] as const
