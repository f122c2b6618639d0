import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, extname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newDirectory } from '../support/directory.ts'
import { removeDirectory, sandboxDirectory, startTestSandbox, type TestSandbox } from '../support/sandbox.ts'
import { WAIT_MS_MAX } from '../support/until.ts'

const lines = readFileSync('config/Dockerfile', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const rest = (name: string, of: readonly string[]) =>
  of.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
/** Each stage by its name, with what is done in it. */
const stages = new Map(
  lines
    .join('\n')
    .split(/^FROM /m)
    .slice(1)
    .map((text) => {
      const [head = '', ...done] = text.split('\n')
      const [image = '', name = ''] = head.split(' AS ')
      return [name, { image, done }]
    }),
)
const stage = (name: string) => stages.get(name) ?? expect.fail(`no stage ${name}`)
/** What is copied from the checkout into a stage. */
const copied = (name: string) =>
  rest('COPY', stage(name).done)
    .filter((copy) => !copy.startsWith('--'))
    .flatMap((copy) => copy.split(' ').slice(0, -1))

describe("the image's file", () => {
  it('is built on the Node.js of package.json, to the patch', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
    const images = [...stages.values()].map(({ image }) => image).filter((image) => !stages.has(image))
    expect(images).toEqual([`node:${dependencies.node}-bookworm-slim`])
  })

  it('ends in the keeper, and each target works without rights', () => {
    expect([...stages.keys()].at(-1)).toBe('keeper')
    for (const target of ['keeper', 'sandbox']) expect(rest('USER', stage(target).done)).toEqual(['node'])
  })

  it('copies what is there, and nothing else is sent to who builds it', () => {
    const all = [...stages.keys()].flatMap(copied)
    expect(all.filter((path) => !existsSync(path))).toEqual([])
    const [everything, ...sent] = readFileSync('config/Dockerfile.dockerignore', 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(everything).toBe('*')
    expect(sent.toSorted()).toEqual([...new Set(all)].map((path) => `!${path}`).toSorted())
  })
})

/** Copy the packages that the image has. They are taken from here: a test downloads nothing. */
function copyPackages(to: string): void {
  const [install = '', remove = ''] = rest('RUN', stage('packages').done)
  const omitted = install.split(' ').filter((word) => word.startsWith('--omit='))
  const listed = execFileSync('npm', ['ls', '--parseable', '--all', ...omitted], { encoding: 'utf8' })
  const removed = [...remove.matchAll(/-name '\*(\.\w+)'/g)].map(([, end = '']) => end)
  for (const path of listed.trim().split('\n').slice(1)) {
    const [name = '', ...inside] = path.split('/node_modules/').slice(1)
    if (inside.length > 0) continue
    const filter = (file: string) => !removed.includes(extname(file))
    cpSync(path, join(to, name), { recursive: true, filter })
  }
}

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

describe('what it copies, beside a sandbox, for a user who may write the folder of the records alone', () => {
  const root = newDirectory()
  const [app, state, bin] = [join(root, 'app'), join(root, 'state'), join(root, 'bin')]
  const config = join(root, 'run.yaml')
  const directory = sandboxDirectory()
  let sandbox: TestSandbox
  let env: NodeJS.Dict<string>

  beforeAll(async () => {
    for (const folder of [app, state, bin]) mkdirSync(folder)
    for (const path of ['base', 'keeper'].flatMap(copied))
      cpSync(path, join(app, path), { recursive: true, preserveTimestamps: true })
    copyPackages(join(app, 'node_modules'))
    // That of the image: where ours is, the user may not be let in.
    copyFileSync(process.execPath, join(bin, 'node'))
    sandbox = await startTestSandbox(directory)
    const theirs = readFileSync(join(directory, 'run.yaml'), 'utf8')
    const policies = join(app, 'policies')
    const ours = theirs
      .replaceAll(join(process.cwd(), 'sandbox/policies'), policies)
      .replaceAll(join(process.cwd(), 'policies'), policies)
      .replace(`"directory": "${directory}"`, `"directory": "${state}"`)
    writeFileSync(config, ours)
    env = {
      ...parseEnv(readFileSync(join(directory, 'sandbox.env'), 'utf8')),
      PATH: [bin, '/usr/bin', '/bin'].join(delimiter),
    }
    for (const open of [root, dirname(config)]) chmodSync(open, 0o755)
    if (isRoot) chownSync(state, NOBODY, NOBODY)
    else execFileSync('chmod', ['-R', 'a-w', app])
  })
  afterAll(async () => {
    await sandbox?.stop()
    removeDirectory(directory)
    if (!isRoot) execFileSync('chmod', ['-R', 'u+w', app])
    rmSync(root, { recursive: true, force: true })
  })

  /** The sandbox is in this process, which must not stand still meanwhile. */
  const rolekeeper = async (...args: string[]) => {
    const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
    const child = spawn(join(app, 'src/cli/bin/rolekeeper'), args, {
      ...user,
      env,
      cwd: app,
      timeout: WAIT_MS_MAX,
    })
    const [[status], stdout, stderr] = await Promise.all([
      once(child, 'close'),
      text(child.stdout),
      text(child.stderr),
    ])
    return { status, stdout, stderr }
  }

  it('has no package for development', () => {
    expect(existsSync(join(app, 'node_modules/viem'))).toBe(true)
    expect(existsSync(join(app, 'node_modules/vitest'))).toBe(false)
  })

  it('says its version', async () => {
    expect(await rolekeeper('--version')).toMatchObject({ status: 0, stderr: '' })
  })

  it('looks at everything', async () => {
    const { stdout, stderr } = await rolekeeper('doctor', '--config', config, '--all')
    expect(stderr).toBe('')
    expect(stdout).toMatch(/✓ directory: .*✓ key liquidator: .* and may sign/s)
  })

  it('keeps roles', async () => {
    const { status, stdout, stderr } = await rolekeeper('run', '--config', config, '--for', '15s')
    expect({ status, stderr }).toMatchObject({ status: 0 })
    expect(stdout).toMatch(/● ready/)
  })
})
