import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { versionOf } from './installed.ts'
import { freePort } from './loopback.ts'

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

/** A real Prometheus that scrapes one keeper each second, else as `config/prometheus.yaml` says. */
export type TestPrometheus = {
  /** Ask a query now. @returns what came: its series, each with its labels; throws with what Prometheus says of one that is wrong. */
  readonly ask: (query: string) => Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>
  readonly stop: () => Promise<void>
}

/** Start Prometheus on what a keeper's ops port says; resolves once it has scraped it. */
export async function startPrometheus(opsUrl: string): Promise<TestPrometheus> {
  await promtool()
  const directory = await mkdtemp(join(tmpdir(), 'rolekeeper-prometheus-'))
  const port = await freePort()
  const ours = parse(readFileSync('config/prometheus.yaml', 'utf8'))
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ours.rule_files.map((file: string) => resolve('config', file)),
    scrape_configs: ours.scrape_configs.map((each: object) => ({
      ...each,
      static_configs: [{ targets: [new URL(opsUrl).host] }],
    })),
  }
  const file = join(directory, 'prometheus.yml')
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config))
  const child = spawn(
    'prometheus',
    [
      ...[`--config.file=${file}`, `--storage.tsdb.path=${directory}/data`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=error'],
    ],
    { stdio: 'ignore' },
  )
  await once(child, 'spawn')
  const ended = once(child, 'close')
  const ask: TestPrometheus['ask'] = async (query) => {
    const body = new URLSearchParams({ query })
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query`, { method: 'POST', body })
    const { status, data, error } = (await answer.json()) as {
      readonly status: string
      readonly data: { readonly result: Awaited<ReturnType<TestPrometheus['ask']>> }
      readonly error: string
    }
    if (status !== 'success') throw new TypeError(`${query}: ${error}`)
    return data.result
  }
  const scraped = async (): Promise<boolean> => {
    const found = await ask('rolekeeper_info').catch(() => [])
    return found.length > 0
  }
  for (let tries = 0; !(await scraped()); tries++) {
    if (tries === 300 || child.exitCode !== null) throw new TypeError('Prometheus scraped nothing.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    ask,
    stop: async () => {
      child.kill('SIGKILL')
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}
