import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { versionOf } from './installed.ts'

const INSTALL =
  'install Prometheus 2.40 or newer with promtool (Debian: `apt-get install prometheus`; macOS: `brew install prometheus`)'

/** Find promtool on the path; on Debian, root installs it first. Throws with one line that says what to install. */
export async function promtool(): Promise<string> {
  const found = await versionOf({ program: 'promtool', debian: 'prometheus' }, /version (\d+)\./)
  if (found === null || found < 2) throw new TypeError(`The tests found no promtool on the path: ${INSTALL}.`)
  return 'promtool'
}

/** What promtool said, and whether it was content. */
export async function askPromtool(
  args: readonly string[],
  input = '',
): Promise<{ ok: boolean; said: string }> {
  const child = spawn(await promtool(), args)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { ok: code === 0, said }
}
