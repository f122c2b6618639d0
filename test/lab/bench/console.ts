import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { linkOf, readPlace } from '../../../src/ops/console/access.ts'
import { startBrowser } from '../../support/chromium.ts'
import { newDirectory } from '../../support/directory.ts'
import { type PageSize, sizeOf } from '../../support/page-growth.ts'

const run = promisify(execFile)

/** What a page that stays open, and the keeper that it shows, hold after each minute. */
export type ConsoleFigures = {
  readonly minutes: readonly (PageSize & { readonly minute: number; readonly keeperBytes: number })[]
}

/** As `src/cli/bin/rolekeeper` starts it. */
const AS_INSTALLED = ['--max-semi-space-size=2', '--heap-growing-percent=50']
const MINUTES = 10
const MINUTE_MS = 60_000

/** Keep the console open in Chromium beside a sandbox at work, going through all of its views, for ten minutes. */
export async function measureConsole(say: (text: string) => void): Promise<ConsoleFigures> {
  const directory = newDirectory()
  const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
  const args = ['start', '--json', '--directory', directory, '--seed', '7']
  const keeper = spawn(process.execPath, [...AS_INSTALLED, main, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(keeper, 'exit')
  const browser = await startBrowser()
  try {
    await isReady(createInterface({ input: keeper.stdout }))
    const place = readPlace(directory)
    if (place === null) throw new TypeError('no console was opened')
    const page = await browser.context.newPage()
    await page.goto(linkOf(place, 'bench', Date.now()))
    await page.locator('[data-link="live"]').waitFor()
    const minutes: ConsoleFigures['minutes'][number][] = []
    for (let minute = 1; minute <= MINUTES; minute += 1) {
      await lookAround(page, Date.now() + MINUTE_MS)
      minutes.push({ minute, ...(await sizeOf(page)), keeperBytes: await residentBytes(keeper.pid) })
      say(`${minute} of ${MINUTES} minutes`)
    }
    return { minutes }
  } finally {
    await browser.close()
    keeper.kill('SIGINT')
    await exited
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Read on for as long as the keeper runs: what it says must go somewhere. */
function isReady(lines: ReturnType<typeof createInterface>): Promise<void> {
  return new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.includes('"type":"ready"')) resolve()
    })
    lines.once('close', () => reject(new TypeError('the sandbox ended before it was ready')))
  })
}

/** Go through the views, the next every five seconds. */
async function lookAround(page: Page, untilMs: number): Promise<void> {
  while (Date.now() < untilMs) {
    for (const view of await page.locator('nav a').all()) {
      const leftMs = untilMs - Date.now()
      if (leftMs <= 0) return
      await view.click()
      await page.waitForTimeout(Math.min(5_000, leftMs))
    }
  }
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(stdout.trim()) * 1_024
}
