import { rmSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { linkOf, readPlace } from '../../../src/ops/console/access.ts'
import { type Console, startConsole } from '../../../src/ops/console/server.ts'
import { type Browser, startBrowser } from '../../support/chromium.ts'
import { newDirectory } from '../../support/directory.ts'
import { sizeOf } from '../../support/page-growth.ts'
import { unreadable } from '../../support/readable-page.ts'
import { until } from '../../support/until.ts'

/** An hour behind the machine of the page. */
const BEHIND_MS = 3_600_000
const HOSTILE = '<img src=x onerror="document.title=1"><b>not bold</b>'

let [directory, skippedMs, revision, reads] = ['', 0, 0, 0]
let [page, browser, open] = [{} as Page, {} as Browser, {} as Console]
const nowMs = () => Date.now() - BEHIND_MS + skippedMs

/** Of many rows, each of them another one at each reading. */
function partsOf(number: number): Readonly<Record<string, unknown>> {
  const each = <Row>(count: number, row: (id: string) => Row) =>
    Array.from({ length: count }, (_, index) => row(`${number}-${index}`))
  const said = (id: string) => ({ subject: id, name: HOSTILE, check: 'too_small', message: HOSTILE })
  const role = {
    signer: '0xaa',
    mode: 'live',
    state: 'up',
    reason: null,
    isByHand: false,
    decidedAtMs: nowMs() - 5_000,
  }
  return {
    keeper: {
      environment: 'test',
      chainId: 1,
      directory: '/x',
      version: '1',
      startedAtMs: 0,
      nowMs: nowMs(),
      control: { killed: false, paused: false, pulled: [] },
      acts: true,
      standing: 'alone',
    },
    facets: each(40, (id) => ({ facet: 'node', about: id, state: 'ok', message: HOSTILE, sinceMs: nowMs() })),
    roles: each(5, (id) => ({
      ...role,
      role: id,
      shows: ['positions', 'lots'],
      block: String(number),
      balance: '1 ETH',
      key: 'ok',
      proposals: 1,
      passedOver: 2,
      live: 1,
      held: 0,
      openNonces: 1,
      safe: [],
      checks: [{ check: 'a', count: 2, subject: id, message: HOSTILE }],
    })),
    budgets: each(20, (id) => ({
      role: id,
      budget: 'usd_per_hour',
      used: 0.5,
      left: '1',
      most: '2',
      freesAtMs: nowMs(),
    })),
    workflows: each(30, (id) => ({
      id,
      role: 'liquidator',
      workflowType: 'a.b',
      subject: id,
      name: HOSTILE,
      summary: HOSTILE,
      state: 'in_flight',
      atMs: nowMs(),
      held: false,
      check: null,
      message: null,
      steps: each(8, (step) => ({ state: step, atMs: nowMs() })),
    })),
    positions: each(30, (id) => ({
      ...said(id),
      market: HOSTILE,
      borrower: id,
      health: 1.1,
      debt: '1',
      debtUsd: 1,
      collateral: '1',
      price: HOSTILE,
      liquidatedBelow: HOSTILE,
      debts: [{ vault: HOSTILE, debt: HOSTILE }],
    })),
    allocations: each(30, (id) => ({
      ...said(id),
      vault: id,
      market: 'm',
      held: '1',
      target: '2',
      heldPart: 0.1,
      targetPart: 0.2,
      capPart: 0.3,
    })),
    navs: each(20, (id) => ({
      ...said(id),
      reported: '1',
      reportedAtS: 1,
      reportedValue: 1,
      nextDueAtS: 2,
      rule: 'r',
      bandMin: 0.9,
      bandMax: 1.1,
      sources: each(5, (source) => ({
        source,
        text: '1',
        value: source.endsWith('-1') ? 3 : 1,
        asOfS: 1,
        check: source.endsWith('-0') ? 'source_out_of_bounds' : null,
      })),
    })),
    lots: each(30, (id) => ({
      ...said(id),
      venue: 'rfq',
      what: HOSTILE,
      reserve: '1',
      reserveAmount: 1,
      closesAtS: 1,
      status: 'open',
      limit: '2',
      limitAmount: 2,
      bids: each(4, (who) => ({ who, ours: false, text: '1', amount: 1, status: 'live' })),
    })),
    approvals: [],
    money: {
      today: {},
      gains: [],
      points: [
        [number, number + 1],
        [1, 2],
        [1, 2],
        [1, 2],
      ],
    },
    alarms: each(50, (id) => ({ at: new Date(nowMs()).toISOString(), code: id, message: HOSTILE, fix: 'f' })),
    nodes: each(5, (node) => ({ node, state: 'ok', blocksBehind: 0 })),
  }
}

const start = () =>
  startConsole(
    { host: '127.0.0.1', port: 0, directory },
    {
      nowMs,
      monotonicMs: nowMs,
      clean: (text) => text,
      log: { info: () => {}, warn: () => {} },
      read: async () => {
        reads += 1
        revision += 1
        return partsOf(revision)
      },
      why: async (about) => ({ about, workflows: [], decisions: [] }),
      act: async () => 'Done.',
    },
  )

beforeAll(async () => {
  directory = newDirectory()
  ;[open, browser] = await Promise.all([start(), startBrowser()])
  page = await browser.context.newPage()
  await signIn()
})

afterAll(async () => {
  await browser.close?.()
  await open.close?.()
  rmSync(directory, { recursive: true })
})

async function signIn() {
  const place = readPlace(directory)
  if (place === null) throw new TypeError('no console was opened')
  await page.goto(linkOf(place, 'ann@desk', nowMs()))
  await page.locator('[data-link="live"]').waitFor()
}

const VIEWS = 'overview workflows positions vaults nav lots money budgets approvals health'.split(' ')
const goTo = (view: string) => page.locator(`nav a[data-view="${view}"]`).click()

it('shows what people wrote as text alone, and times by the clock of the keeper', async () => {
  for (const view of VIEWS) {
    await goTo(view)
    await page.locator('h1').waitFor()
    expect(await page.locator('#view img, #view b').count(), view).toBe(0)
  }
  await goTo('positions')
  await page
    .locator('.seen time', { hasText: /^\d+(\.\d)? s ago$/ })
    .first()
    .waitFor()
})

it('cuts nothing of a source that does not count, on a telephone', async () => {
  await page.setViewportSize({ width: 360, height: 740 })
  await goTo('nav')
  const notCounted = page.locator('td .badge[data-state="failing"]')
  await notCounted.filter({ hasText: 'source_out_of_bounds' }).first().waitFor()
  await notCounted.filter({ hasText: 'too far from the median' }).first().waitFor()
  expect(await unreadable(page)).toEqual([])
  await page.setViewportSize({ width: 1_280, height: 800 })
})

it('counts every alarm of late, and folds the older of many', async () => {
  await goTo('overview')
  await page.locator('.glance', { hasText: '50 to look at' }).waitFor()
  await goTo('health')
  await page.locator('summary', { hasText: '42 older alarms' }).waitFor()
  expect(await page.locator('[data-part="alarms"] .line').count()).toBe(8)
})

it('names the key of each view', async () => {
  const titles = await page
    .locator('nav a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('title')))
  expect([titles[0], ...titles.slice(-2)]).toEqual(['Overview (1)', 'Health (0)', 'Why (/)'])
})

/** The size of the page once it holds what is shown and no more: what a frame replaced is held until a later frame. */
async function sizeOnceDrawn() {
  const size = await sizeOf(page)
  const shown = await page.evaluate<number>('document.evaluate("count(//node())", document).numberValue')
  expect(size.nodes).toBeLessThan(shown * 1.5)
  return size
}

it('holds no more after twenty readings that are each all new than after five', async () => {
  const readAll = async (times: number) => {
    for (let round = 0; round < times; round += 1) {
      for (const view of ['overview', 'workflows', 'positions', 'lots', 'money']) {
        const before = reads
        await goTo(view)
        await expect.poll(() => reads, { interval: 20 }).toBeGreaterThan(before)
      }
    }
    await goTo('overview')
    await page.locator('.tile').first().waitFor()
    return until(sizeOnceDrawn)
  }
  const before = await readAll(1)
  const after = await readAll(3)
  expect(after.listeners).toBeLessThan(before.listeners * 1.2)
  expect(after.heapBytes).toBeLessThan(before.heapBytes + 1_500_000)
})

it('is left open for a day: its session ends, it says so, and another link brings it back', async () => {
  await goTo('overview')
  await page.locator('.card').first().waitFor()
  skippedMs += 12 * 3_600_000 + 1
  await page.locator('.sign-in', { hasText: 'rolekeeper console' }).waitFor()
  expect(await page.locator('#view .card').count()).toBe(1)
  await expect.poll(() => page.locator('#kill').isDisabled()).toBe(true)
  const before = reads
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(reads - before, 'nothing is read while nobody looks').toBeLessThanOrEqual(1)
  await signIn()
  await page.locator('.tiles').waitFor()
})

it('comes back by itself after the keeper was away, however long', async () => {
  await open.close()
  await page.locator('[data-link="away"]').waitFor()
  open = await start()
  await page.locator('#link', { hasText: 'live again' }).waitFor()
})
