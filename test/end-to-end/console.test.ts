import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SCENARIOS } from '../../sandbox/story/scenarios.ts'
import { linkOf, readPlace } from '../../src/ops/console/access.ts'
import { setControl } from '../../src/ops/control.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import type { KeeperStatus } from '../../src/ops/status.ts'
import { usd } from '../../src/readable.js'
import { type Browser, startBrowser } from '../support/chromium.ts'
import { runCommand } from '../support/commands.ts'
import { inOrder } from '../support/in-order.ts'
import type { TestKeeper } from '../support/keeper-scene.ts'
import { inaccessible, unreadable } from '../support/readable-page.ts'
import { createRoleSession, type RoleSession } from '../support/role-session.ts'
import { disagreements, type Surfaces } from '../support/surfaces.ts'

let [session, keeper, browser, page] = [{} as RoleSession, {} as TestKeeper, {} as Browser, {} as Page]
const [asked, said]: [string[], string[]] = [[], []]
let gained = Promise.resolve()

beforeAll(async () => {
  session = await createRoleSession(SCENARIOS.lively, 7)
  ;[keeper, browser] = await Promise.all([session.start(session.config), startBrowser()])
  page = await browser.context.newPage()
  page.on('request', (request) => asked.push(request.url()))
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  const place = readPlace(session.config.directory)
  if (place === null) throw new TypeError('no console was opened')
  await page.goto(linkOf(place, 'ann@desk', session.nowMs()))
  await page.locator('[data-link="live"]').waitFor()
  gained = watchGain(await browser.context.newPage())
})

afterAll(async () => {
  await browser.close?.()
  await session.stop?.()
})

const show = (view: string) => page.locator(`nav a[data-view="${view}"]`).click()
const appears = (selector: string) => page.locator(selector).first().waitFor()

/** The next event of a kind from now on. */
function next<Type extends KeeperEvent['type']>(
  type: Type,
  fits: (event: Told<Type>) => boolean = () => true,
) {
  const past = new Set(keeper.events)
  const isNext = (event: KeeperEvent): event is Told<Type> =>
    !past.has(event) && event.type === type && fits(event as Told<Type>)
  return keeper.until(isNext) as Promise<Told<Type>>
}
type Told<Type> = Extract<KeeperEvent, { type: Type }>

it.each([
  ['overview', 'liquidator', '.cards .card:nth-child(1)'],
  ['positions', 'liquidator', '.seen'],
  ['vaults', 'allocator', '.seen'],
  ['nav', 'nav-reporter', '.seen'],
  ['lots', 'rfq-bidder', '.seen [data-role="rfq-bidder"]'],
  ['lots', 'asset-manager', '.seen [data-role="asset-manager"]'],
])('shows on %s what the %s saw when it decided', async (view, role, place) => {
  await show(view)
  const { at } = await next('decision', (event) => event.role === role)
  const shownAt = () => page.locator(`${place} time`).first().getAttribute('datetime')
  await expect
    .poll(async () => Date.parse((await shownAt()) ?? ''))
    .toBeGreaterThanOrEqual(Date.parse(at) - 100)
})

it('shows a health once its event is out', async () => {
  await show('positions')
  const { subject } = await next('health')
  const said = () =>
    keeper.events.flatMap((event) =>
      event.type === 'health' && event.subject === subject
        ? (Number(event.healthFactorWad) / 1e18).toFixed(4)
        : [],
    )
  const from = said().length - 1
  // All that a borrower owes in a market is one row.
  const [market, , borrower] = subject.split(':')
  const shown = page.locator(`tr[data-key="${market}:${borrower}"] .health strong`)
  // Another may have come meanwhile.
  await expect
    .poll(async () =>
      said()
        .slice(from)
        .includes((await shown.textContent()) ?? ''),
    )
    .toBe(true)
})

it('shows what a budget has less after a signature', async () => {
  await show('budgets')
  const used = () => page.locator('.meter strong').allTextContents()
  const before = await used()
  const claims = ['a', 'b', 'c'].map(() => () => next('slot', ({ state }) => state === 'signed'))
  for (const claimed of claims) await claimed()
  await expect.poll(used).not.toEqual(before)
})

it('shows what was gained', () => gained)

it('shows of today, by role, what the status says', async () => {
  await show('money')
  const text = (micros: string | null) => (micros === null ? '?' : usd(BigInt(micros)))
  const shown = page.locator('tr[data-key="liquidator"] td')
  await expect
    .poll(async () => {
      const status: KeeperStatus = JSON.parse(await keeper.page('/status'))
      const role = status.roles.find((each) => each.role === 'liquidator')
      const says = [role?.realizedTodayUsdMicros ?? null, role?.markedTodayUsdMicros ?? null].map(text)
      const [, , realised, marked] = await shown.allTextContents()
      return realised !== text('0') && says.join() === [realised, marked].join()
    })
    .toBe(true)
})

it('shows our bids on the ladders', async () => {
  await show('lots')
  await appears('.ladder .ours')
})

it('shows a workflow once its event is out', async () => {
  await show('workflows')
  const seen = new Set(keeper.events.flatMap((event) => (event.type === 'workflow' ? [event.id] : [])))
  const event = await keeper.until((one) => one.type === 'workflow' && !seen.has(one.id))
  const id = event.type === 'workflow' ? event.id.slice(0, 8) : ''
  await page.locator('.flow', { hasText: id }).first().waitFor()
})

/** Pause all roles, or take it back, beside the page. */
const pull = (on: boolean) =>
  setControl(session.config.directory, 'pause', on, {
    by: 'bob@shell',
    atMs: session.nowMs(),
    reason: 'a drill',
  })

it('shows a switch that was pulled elsewhere, and its facet', async () => {
  await show('health')
  pull(true)
  await page.locator('#banner', { hasText: /Paused: .* By bob@shell, .*: a drill/ }).waitFor()
  const paused = page.locator('[data-key="pause"] .badge')
  await keeper.until((event) => event.type === 'facet' && event.facet === 'pause')
  await expect.poll(() => paused.getAttribute('data-state')).not.toBe('ok')
  pull(false)
  await page.locator('#banner').waitFor({ state: 'hidden' })
})

it('says why nothing was done about a position', async () => {
  await show('positions')
  await page.locator('.positions td:last-child .why').first().click()
  await appears('#view .card h2 code')
  await page.locator('#view .card dl.figures dt').first().waitFor({ state: 'attached' })
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

it('shows the workflows of one role, to which its card leads', async () => {
  const names = async () => [...new Set(await page.locator('.flow .head strong').allTextContents())]
  await show('workflows')
  await expect.poll(async () => (await names()).length).toBeGreaterThan(1)
  await show('overview')
  await page.locator('.card[data-key^="liquidator "] .filter a', { hasText: 'workflows' }).click()
  await appears('.filter a[aria-current]')
  await expect.poll(names).toEqual(['liquidator'])
  await page.locator('.filter a', { hasText: 'all roles' }).click()
  await expect.poll(async () => (await names()).length).toBeGreaterThan(1)
})

/** What the KMS signed after a moment, by its own log; of a role's key alone where one is given. */
const signedAfter = (atMs: number, role?: string) =>
  session.sandbox.kms
    .calls()
    .filter(
      ({ operation, at, keyId }) =>
        operation === 'Sign' && at > atMs && (role === undefined || keyId === keyIdOf(role)),
    )
function keyIdOf(role: string): string | undefined {
  const address = session.config.agents.find((agent) => agent.role === role)?.signer.address
  return session.sandbox.kms.keys.find((key) => key.address.toLowerCase() === address?.toLowerCase())?.arn
}

/** Watch a page of its own for what is gained next, which may take a minute: it stands there. */
async function watchGain(other: Page): Promise<void> {
  await other.goto(page.url())
  await other.locator('nav a[data-view="money"]').click()
  const { id, at } = await next('gain')
  await other.locator(`tr[data-key="${id} ${at}"]`).waitFor()
  await other.close()
}

inOrder('the console of a keeper, in a browser', () => {
  it('forgets the key of the link, and asks nobody but the keeper', async () => {
    expect(page.url()).not.toContain('link.')
    const { origin } = new URL(page.url())
    expect([...new Set(asked.map((url) => new URL(url).origin))]).toEqual([origin])
  })

  /** Each view, and what is on it once its roles have looked. */
  const VIEWS = [
    ['overview', '.card[data-state="up"]'],
    ['workflows', '.flow .steps li + li'],
    ['positions', '.positions .health strong'],
    ['vaults', '.allocation .track .held'],
    ['nav', '.band .allowed + .reported + .source'],
    ['lots', '.ladder .reserve'],
    ['money', '#chart canvas'],
    ['budgets', '.meter'],
    ['approvals', '.approval .calls code'],
    ['health', 'tbody tr'],
  ] as const

  it.each(VIEWS)('shows %s', async (view, selector) => {
    await show(view)
    await appears(selector)
  })

  it.each([360, 768, 1_280, 1_920])('is read whole at a width of %i, its words explained', async (width) => {
    await page.setViewportSize({ width, height: 800 })
    if (!(await page.locator('#words dl').isVisible())) await page.locator('#words summary').click()
    for (const [view, selector] of VIEWS) {
      await show(view)
      await appears(selector)
      await appears('#words dt')
      expect([view, width, await unreadable(page)]).toEqual([view, width, []])
    }
    await page.setViewportSize({ width: 1_280, height: 800 })
  })

  it('is read by whoever sees little, in dark and in light', async () => {
    for (const [view, selector] of VIEWS) {
      await show(view)
      await appears(selector)
      await page.emulateMedia({ colorScheme: 'light' })
      expect([view, await inaccessible(page)]).toEqual([view, []])
      await page.emulateMedia({ colorScheme: 'dark' })
      expect([view, await inaccessible(page, 'color-contrast')]).toEqual([view, []])
    }
  })

  /** Give an order at the page. @returns when the keeper had it. */
  async function order(button: Locator, word: string): Promise<number> {
    const verb = word.toLowerCase()
    await button.click()
    await page.locator('#reason').fill('a drill')
    await page.locator('dialog .happens li').first().waitFor()
    const heard = next('control', (event) => event.verb === verb)
    await page.locator('dialog button[type=submit]', { hasText: word }).click()
    expect(await heard).toMatchObject({ by: 'console session of ann@desk', reason: 'a drill' })
    return Date.parse((await heard).givenAt)
  }

  /** What was public at a moment may be signed again, to be raised or closed; nothing else is signed after it. */
  function expectNothingNew(fromMs: number, role?: string): void {
    const signed = keeper.events.flatMap((event) =>
      event.type === 'slot' && event.state === 'signed' && (role === undefined || event.role === role)
        ? { id: event.id, atMs: Date.parse(event.at) }
        : [],
    )
    const known = new Set(signed.flatMap(({ id, atMs }) => (atMs <= fromMs ? id : [])))
    const again = signed.filter(({ id, atMs }) => atMs > fromMs && known.has(id))
    expect(signedAfter(fromMs, role).length).toBeLessThanOrEqual(again.length)
  }

  /** How often a pause has kept something from being done. */
  async function refusedByPause(): Promise<number> {
    const samples = (await keeper.page('/metrics')).matchAll(
      /^rolekeeper_refusals_total\{.*check="paused".*\} (\d+)$/gm,
    )
    return [...samples].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  /**
   * Wait until a role, or whoever is the first, has decided twice since a switch: what was on its way to the KMS by then has
   * arrived there.
   * @returns that moment.
   */
  async function onceHeard(role?: string): Promise<number> {
    for (const _decision of ['the one under way', 'the one after'])
      await next('decision', (event) => role === undefined || event.role === role)
    return session.nowMs()
  }

  it('signs nothing new once a pause was heard, as who and why, and goes on', async () => {
    await next('slot', ({ state }) => state === 'signed')
    const before = await refusedByPause()
    await order(page.locator('#pause'), 'Pause')
    await page.locator('#banner', { hasText: 'Paused' }).waitFor()
    // Something was there to be done.
    await expect.poll(refusedByPause).toBeGreaterThan(before)
    const fromMs = await onceHeard()
    await onceHeard()
    expectNothingNew(fromMs)
    const resumedAtMs = await order(page.locator('#pause', { hasText: 'Resume' }), 'Resume')
    await page.locator('#banner').waitFor({ state: 'hidden' })
    await expect.poll(() => signedAfter(resumedAtMs).length).toBeGreaterThan(0)
  })

  it('pauses one role alone: the others sign on', async () => {
    await show('overview')
    const card = page.locator('.card', { has: page.locator('h3', { hasText: 'liquidator' }) })
    await order(card.getByRole('button', { name: 'Pause the liquidator' }), 'Pause')
    await page.locator('#banner', { hasText: 'Paused: the liquidator' }).waitFor()
    await card.locator('.badge', { hasText: 'paused' }).waitFor()
    const fromMs = await onceHeard('liquidator')
    await onceHeard('liquidator')
    const isOther = ({ keyId }: { readonly keyId?: string }) => keyId !== keyIdOf('liquidator')
    await expect.poll(() => signedAfter(fromMs).some(isOther)).toBe(true)
    expectNothingNew(fromMs, 'liquidator')
    await order(card.getByRole('button', { name: 'Resume the liquidator' }), 'Resume')
    await page.locator('#banner').waitFor({ state: 'hidden' })
  })

  it('signs nothing at all once a kill was heard, and goes on', async () => {
    await next('slot', ({ state }) => state === 'signed')
    await page.keyboard.press('Escape')
    await order(page.locator('#kill'), 'Kill')
    await page.locator('#banner', { hasText: 'Killed' }).waitFor()
    const fromMs = await onceHeard()
    await onceHeard()
    expect(signedAfter(fromMs)).toEqual([])
    await order(page.locator('#kill', { hasText: 'Unkill' }), 'Unkill')
    await page.locator('#banner').waitFor({ state: 'hidden' })
  })

  it('approves what is shown', async () => {
    await show('approvals')
    const card = page.locator('.approval').first()
    const key = await card.getAttribute('data-key')
    await card.getByRole('button', { name: 'Approve …' }).click()
    await page.locator('dialog .calls').waitFor()
    // On a telephone too: from its beginning, with each address and the hash in full.
    await page.setViewportSize({ width: 360, height: 740 })
    expect(await unreadable(page)).toEqual([])
    expect(await page.locator('dialog').evaluate(({ scrollTop }) => scrollTop)).toBe(0)
    await page.setViewportSize({ width: 1_280, height: 800 })
    const goesOn = next('workflow', ({ id }) => id === key)
    await page.locator('dialog button[type=submit]').click()
    await goesOn
    await page.locator(`.approval[data-key="${key}"]`).waitFor({ state: 'detached' })
  })

  /** What a command prints of the keeper's records, line by line. */
  async function json(...args: readonly string[]) {
    const { out } = await runCommand([...args, '--directory', session.config.directory, '--json'])
    return out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }

  /** All that says something of the keeper now. */
  async function surfaces(): Promise<Surfaces> {
    const { directory } = session.config
    const [status, metrics, pnl, listed] = await Promise.all([
      keeper.page('/status').then((text): KeeperStatus => JSON.parse(text)),
      keeper.page('/metrics'),
      json('pnl'),
      json('workflows', 'list', '--limit', '1000'),
    ])
    const shown: Surfaces['shown'] = await page.evaluate(
      "import('/link.js').then(({ parts }) => structuredClone(parts))",
    )
    const ids = shown.workflows.slice(0, 5).map(({ id }) => id)
    const texts = await Promise.all(ids.map((id) => runCommand(['explain', id, '--directory', directory])))
    const explained = Object.fromEntries(ids.map((id, index) => [id, texts[index]?.out ?? '']))
    return { status, shown, metrics, pnl, listed, explained }
  }

  it('says of everything what status, pnl, explain, metrics and the journal say', async () => {
    pull(true)
    // Nothing moves on between one reading and the next, however long a busy machine takes for them.
    session.stand(true)
    // What was final by then is entered first.
    let entered = ''
    const goesOn = async () => {
      const before = entered
      entered = JSON.stringify(await json('pnl'))
      return entered !== before
    }
    await expect.poll(goesOn).toBe(false)
    let all = await surfaces()
    const differ = async () => {
      all = await surfaces()
      return disagreements(all)
    }
    await expect
      .poll(differ)
      .toEqual([])
      .finally(() => {
        session.stand(false)
        pull(false)
      })
    expect(all.status.roles.map(({ realizedTodayUsdMicros }) => realizedTodayUsdMicros)).not.toEqual([])
    for (const [name, seeded] of Object.entries(seededIn(all)))
      expect([name, disagreements(seeded).length]).toEqual([name, 1])
  })

  /** The same with one figure of one surface off by a little. */
  function seededIn(all: Surfaces): Readonly<Record<string, Surfaces>> {
    const { status, shown, metrics, pnl, explained } = all
    const [id = ''] = Object.keys(explained)
    const first = <Row extends { readonly role: string }>(
      rows: readonly Row[],
      role: string,
      change: (row: Row) => Row,
    ) => rows.map((row) => (row.role === role ? change(row) : row))
    const cent = (micros: string | null) => String(BigInt(micros ?? 0) + 10_000n)
    return {
      'a cent more realised in status': {
        ...all,
        status: {
          ...status,
          roles: first(status.roles, 'liquidator', (row) => ({
            ...row,
            realizedTodayUsdMicros: cent(row.realizedTodayUsdMicros),
          })),
        },
      },
      'a cent more marked in the accounts': {
        ...all,
        pnl: first(
          pnl.map((row) => ({ ...row, role: row.role ?? '' })),
          'liquidator',
          (row) => ({ ...row, marked: cent(row.marked) }),
        ),
      },
      'one more held in the metrics': {
        ...all,
        metrics: metrics.replace(
          /^(rolekeeper_workflows_held\{.*role="asset-manager".*\}) (\d+)$/m,
          (_, name, held) => `${name} ${Number(held) + 1}`,
        ),
      },
      'another budget on the page': {
        ...all,
        shown: {
          ...shown,
          budgets: shown.budgets.map((row, at) => (at === 0 ? { ...row, left: '$1' } : row)),
        },
      },
      'another summary in explain': { ...all, explained: { ...explained, [id]: 'repay nothing' } },
      'another state on the page': {
        ...all,
        shown: {
          ...shown,
          workflows: shown.workflows.map((row) => (row.id === id ? { ...row, state: 'reverted' } : row)),
        },
      },
    }
  }

  it('is away once the keeper ended, whose summary says what pnl and the journal say', async () => {
    await keeper.keeper.stop({ drainMs: 0 })
    const { workflows, money } = keeper.keeper.summary()
    const [pnl, listed]: [Surfaces['pnl'], Surfaces['listed']] = await Promise.all([
      json('pnl'),
      json('workflows', 'list', '--limit', '1000'),
    ])
    const earned = pnl.map(({ role, said, moved, gas, positions, marked }) => [
      role,
      {
        saidUsdMicros: said ?? '0',
        realizedUsdMicros: String(BigInt(moved ?? 0) + BigInt(gas ?? 0) + BigInt(positions ?? 0)),
        markedUsdMicros: marked ?? '0',
        gasUsdMicros: gas,
      },
    ])
    expect(Object.keys(money ?? {})).toContain('liquidator')
    expect(Object.fromEntries(earned)).toMatchObject(money ?? {})
    const counts = (role: string, state: string) =>
      listed.filter((each) => each.role === role && each.state === state).length
    for (const [role, { parked: _, ...ended }] of Object.entries(workflows))
      expect([role, ended]).toEqual([
        role,
        Object.fromEntries(Object.keys(ended).map((state) => [state, counts(role, state)])),
      ])
    await page.locator('[data-link="away"]').waitFor()
  })

  it('comes back by itself after a restart of the keeper, and says so', async () => {
    keeper = await session.start(session.config)
    await page.locator('#link', { hasText: 'live again' }).waitFor()
    for (const [view, selector] of VIEWS) {
      await show(view)
      // Perhaps nothing waits for a person any more.
      await appears(view === 'approvals' ? `${selector}, .nothing` : selector)
    }
  })

  it('broke no rule of its content security policy', () => {
    expect(said.filter((text) => /Content Security|Trusted|Refused|TypeError|Uncaught/.test(text))).toEqual(
      [],
    )
  })
})
