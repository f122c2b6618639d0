import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { type BrowserContext, chromium } from 'playwright-core'
import { newDirectory } from './directory.ts'
import { WAIT_MS_MAX } from './until.ts'

const run = promisify(execFile)

const INSTALL = 'install chromium (Debian: `apt-get install chromium`; macOS: `brew install --cask chromium`)'
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** Find Chromium on the path; on Debian, root installs it first. Throws with one line that says what to install. */
export async function chromiumPath(): Promise<string> {
  const found = (await lookUp()) ?? (await installed())
  if (found === null) throw new TypeError(`The tests found no Chromium on the path: ${INSTALL}.`)
  return found
}

async function lookUp(): Promise<string | null> {
  for (const name of NAMES) {
    try {
      const { stdout } = await run('sh', ['-c', `command -v ${name}`])
      return stdout.trim()
    } catch {
      // The next one.
    }
  }
  return null
}

async function installed(): Promise<string | null> {
  if (process.getuid?.() !== 0) return null
  try {
    await run('apt-get', ['update'])
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  } catch {
    return null
  }
  return lookUp()
}

/** A browser of its own, with a profile that nobody used. */
export type Browser = { readonly context: BrowserContext; readonly close: () => Promise<void> }

/** Start Chromium. */
export async function startBrowser(): Promise<Browser> {
  const profile = newDirectory()
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: await chromiumPath(),
    // A container has neither a user namespace for its sandbox nor a graphics card.
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
    ],
    viewport: { width: 1280, height: 800 },
  })
  context.setDefaultTimeout(WAIT_MS_MAX)
  return {
    context,
    close: async () => {
      await context.close()
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
