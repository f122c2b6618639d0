import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SCENARIOS } from '../../sandbox/story/scenarios.ts'
import { linkOf, readPlace } from '../../src/ops/console/access.ts'
import { setControl } from '../../src/ops/control.ts'
import { type Browser, startBrowser } from '../support/chromium.ts'
import { startTestKeeper, type TestKeeper } from '../support/keeper-scene.ts'
import { createRoleSession, type RoleSession } from '../support/role-session.ts'

/** What happened is to be on the page by then; the rest is what a busy machine takes. */
const LIVE_MS = 2_000

let [session, keeper, browser, page] = [{} as RoleSession, {} as TestKeeper, {} as Browser, {} as Page]
const [asked, said]: [string[], string[]] = [[], []]

beforeAll(async () => {
  session = await createRoleSession(SCENARIOS.lively, 7)
  ;[keeper, browser] = await Promise.all([startTestKeeper(session.config), startBrowser()])
  page = await browser.context.newPage()
  page.on('request', (request) => asked.push(request.url()))
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  const place = readPlace(session.config.directory)
  if (place === null) throw new TypeError('no console was opened')
  await page.goto(linkOf(place, 'ann@desk', Date.now()))
  await page.locator('[data-link="live"]').waitFor()
}, 120_000)

afterAll(async () => {
  await browser.close?.()
  await keeper.keeper?.stop({ drainMs: 0 })
  await session.stop?.()
})

const show = (view: string) => page.locator(`nav a[data-view="${view}"]`).click()
const appears = (selector: string, timeout = 30_000) => page.locator(selector).first().waitFor({ timeout })

it('forgets the key of the link, and asks nobody but the keeper', async () => {
  expect(page.url()).not.toContain('link.')
  const { origin } = new URL(page.url())
  expect([...new Set(asked.map((url) => new URL(url).origin))]).toEqual([origin])
})

it.each([
  ['overview', '.card[data-state="up"]'],
  ['workflows', '.flow'],
  ['positions', '.positions tbody tr'],
  ['vaults', '.allocation'],
  ['nav', '.band .source'],
  ['lots', '.ladder li'],
  ['money', '#chart canvas'],
  ['budgets', '.meter'],
  ['approvals', '.approval .calls'],
  ['health', 'tbody tr'],
])('shows %s', async (view, selector) => {
  await show(view)
  await appears(selector)
})

it('shows a workflow within two seconds of its event', async () => {
  await show('workflows')
  const seen = new Set(keeper.events.flatMap((event) => (event.type === 'workflow' ? [event.id] : [])))
  const event = await keeper.until((one) => one.type === 'workflow' && !seen.has(one.id))
  const id = event.type === 'workflow' ? event.id.slice(0, 8) : ''
  await page.locator('.flow', { hasText: id }).first().waitFor({ timeout: LIVE_MS })
})

it('shows a switch that was pulled elsewhere within two seconds', async () => {
  setControl(session.config.directory, 'pause', true, { by: 'bob@shell', atMs: Date.now(), reason: null })
  await page.locator('#banner', { hasText: 'Paused' }).waitFor({ timeout: LIVE_MS })
  setControl(session.config.directory, 'pause', false, { by: 'bob@shell', atMs: Date.now(), reason: null })
  await page.locator('#banner').waitFor({ state: 'hidden', timeout: LIVE_MS })
})

it('leads from a row to why, and is used by keys alone', async () => {
  await page.keyboard.press('2')
  await page.locator('h1', { hasText: 'Workflows' }).waitFor()
  await page.locator('.flow .why').first().focus()
  await page.keyboard.press('Enter')
  await appears('#view .card .steps')
  await page.keyboard.press('/')
  expect(await page.evaluate('document.activeElement.id')).toBe('about')
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.locator('dialog[open] kbd').first().waitFor()
  await page.keyboard.press('Escape')
  expect(await page.locator('dialog[open]').count()).toBe(0)
  expect(await page.locator('h1').count()).toBe(1)
  const nameless =
    "[...document.querySelectorAll('button, input')].filter((one) => !one.textContent && !one.labels?.length)"
  expect(await page.evaluate(`${nameless}.length`)).toBe(0)
})

it('stops every signature within a second of kill, as who and why, and goes on', async () => {
  await page.keyboard.press('k')
  await page.locator('#reason').fill('a drill')
  await page.locator('dialog .happens li').first().waitFor()
  await page.locator('dialog button[type=submit]').click()
  await page.locator('#banner', { hasText: 'Killed' }).waitFor({ timeout: LIVE_MS })
  const killedAt = await keeper.until((event) => event.type === 'control' && event.verb === 'kill')
  expect(killedAt).toMatchObject({ by: 'console session of ann@desk', reason: 'a drill' })
  await page.waitForTimeout(1_000)
  const calls = session.sandbox.kms.calls.length
  await page.waitForTimeout(3_000)
  expect(session.sandbox.kms.calls.length).toBe(calls)
  await page.locator('#kill', { hasText: 'Unkill' }).click()
  await page.locator('dialog button[type=submit]').click()
  await page.locator('#banner').waitFor({ state: 'hidden', timeout: LIVE_MS })
})

it('approves what is shown', async () => {
  await show('approvals')
  const card = page.locator('.approval').first()
  const key = await card.getAttribute('data-key')
  await card.getByRole('button', { name: 'Approve …' }).click()
  await page.locator('dialog .calls').waitFor()
  await page.locator('dialog button[type=submit]').click()
  await page.locator(`.approval[data-key="${key}"]`).waitFor({ state: 'detached', timeout: 10_000 })
})

it('comes back by itself after a restart of the keeper, and says so', async () => {
  await keeper.keeper.stop({ drainMs: 0 })
  await page.locator('[data-link="away"]').waitFor()
  keeper = await startTestKeeper(session.config)
  await page.locator('#link', { hasText: 'live again' }).waitFor({ timeout: 15_000 })
  await show('workflows')
  await appears('.flow')
}, 90_000)

it('broke no rule of its content security policy', () => {
  expect(said.filter((text) => /Content Security|Trusted|Refused|TypeError|Uncaught/.test(text))).toEqual([])
})
