import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { rolekeeper } from '../../../src/cli/dispatch.ts'
import { checkFile } from '../../../src/keeper/policy-file.ts'
import { sandboxDirectory, startTestSandbox, type TestSandbox } from '../../support/sandbox.ts'

let sandbox: TestSandbox
let config: string
beforeAll(async () => {
  sandbox = await startTestSandbox(sandboxDirectory())
  config = join(sandbox.directory, 'run.yaml')
}, 60_000)
afterAll(async () => {
  await sandbox.stop()
  rmSync(sandbox.directory, { recursive: true, force: true })
})

const fileOf = (name: string) => join(sandbox.directory, 'policies', name)

/** Write a policy as a person would, with these lines typed. */
async function write(args: readonly string[], lines?: readonly string[]) {
  const said = { out: '', err: '' }
  const code = await rolekeeper(['policy', 'new', ...args, '--config', config], {
    ...{ outIsTty: false, errIsTty: false },
    env: parseEnv(readFileSync(join(sandbox.directory, 'sandbox.env'), 'utf8')),
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
    ...(lines === undefined
      ? {}
      : {
          lines: async function* () {
            yield* lines
          },
        }),
  })
  return { code, ...said }
}

it('writes a policy of each role with careful answers, with which nothing is wrong', async () => {
  for (const { role } of agents) {
    const file = fileOf(`${role}.yaml`)
    expect(await write([role, file, '--defaults'])).toMatchObject({ code: 0, err: '' })
    expect([role, checkFile(file, config).lints]).toEqual([role, []])
  }
  expect(existsSync(fileOf('shared/fees-and-freshness.yaml'))).toBe(true)
  expect(readFileSync(fileOf('liquidator.yaml'), 'utf8')).toMatch(
    / # sBTC: at [\d,.]+ sUSD by its market's oracle/,
  )
})

it('asks, says what is wrong with an answer, and asks again', async () => {
  const file = fileOf('asked.yaml')
  const lines = ['', 'sETH', '10 sBTC', '10 sETH', 'none', '5,000', '5,000 USD', '', '']
  const { code, err } = await write(['liquidator', file], lines)
  expect(err).toContain('the token that is paid with, and counts as a dollar (sUSD) [sUSD]: ')
  expect(err).toContain('sBTC is no unit of it; write a number, a space and one of sETH')
  expect(code).toBe(0)
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('inventoryMax: "10 sETH"')
  expect(text).toContain('repayMax: "5,000 USD"')
  expect(text).not.toContain('sBTC')
})

it('overwrites nothing, and writes nothing that nobody answered for', async () => {
  const file = fileOf('liquidator.yaml')
  const before = readFileSync(file, 'utf8')
  expect(await write(['liquidator', file, '--defaults'])).toMatchObject({ code: 1 })
  expect(readFileSync(file, 'utf8')).toBe(before)
  const other = fileOf('other.yaml')
  expect((await write(['liquidator', other], ['', ''])).err).toContain('Nobody says inventory.sBTC')
  expect((await write(['liquidator', other, 'movedMax=5'])).err).toMatch(/Nobody says money|movedMax is "5"/)
  expect((await write(['liquidator', other, 'colour=red', '--defaults'])).err).toContain(
    'Nothing asks for colour',
  )
  expect((await write(['cook', other, '--defaults'])).err).toContain('ships no policy of the role cook')
  expect(existsSync(other)).toBe(false)
})
