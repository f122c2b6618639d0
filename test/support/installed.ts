import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Find a program's version by what it prints, and where root lacks it on Debian, install its package first.
 * @returns null where there is none.
 */
export async function versionOf(
  { program, debian }: { readonly program: string; readonly debian: string },
  version: RegExp,
): Promise<number | null> {
  return (await asked(program, version)) ?? ((await install(debian)) ? asked(program, version) : null)
}

async function install(debian: string): Promise<boolean> {
  if (process.getuid?.() !== 0) return false
  try {
    await run('apt-get', ['update'])
    await run('apt-get', ['install', '-y', '--no-install-recommends', debian], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    return true
  } catch {
    return false
  }
}

async function asked(program: string, version: RegExp): Promise<number | null> {
  try {
    const { stdout, stderr } = await run(program, ['--version'])
    return Number(version.exec(stdout + stderr)?.[1] ?? 0)
  } catch {
    return null
  }
}
