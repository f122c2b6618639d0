import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { agents } from '../../../../agents/index.ts'
import { rolekeeper } from '../../../../src/cli/dispatch.ts'
import { loadYaml } from '../../../../src/config/yaml.ts'
import { checkFile } from '../../../../src/keeper/policy-tools/file.ts'
import { readCodes } from '../../../../src/keeper/policy-tools/functions.ts'
import { inOrder } from '../../../support/in-order.ts'
import { sandboxDirectory, startTestSandbox, type TestSandbox } from '../../../support/sandbox.ts'

let sandbox: TestSandbox
let config: string
beforeAll(async () => {
  sandbox = await startTestSandbox(sandboxDirectory())
  config = join(sandbox.directory, 'run.yaml')
})
afterAll(async () => {
  await sandbox.stop()
  rmSync(sandbox.directory, { recursive: true, force: true })
})

const env = () => parseEnv(readFileSync(join(sandbox.directory, 'sandbox.env'), 'utf8'))
const fileOf = (name: string) => join(sandbox.directory, 'policies', name)

/** Write a policy as a person would, with these lines typed. */
async function write(args: readonly string[], lines?: readonly string[]) {
  const said = { out: '', err: '' }
  const code = await rolekeeper(['policy', 'new', ...args, '--config', config], {
    outIsTty: false,
    errIsTty: false,
    env: env(),
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

inOrder('rolekeeper policy new, in one folder', () => {
  it('writes a policy of each role with careful answers, with which nothing is wrong', async () => {
    const codes = await readCodes(config, env())
    for (const { role } of agents) {
      const file = fileOf(`${role}.yaml`)
      expect(await write([role, file, '--defaults'])).toMatchObject({ code: 0, err: '' })
      expect([role, checkFile(file, config).lints]).toEqual([role, []])
      expect([role, checkFile(file, config, codes).lints]).toEqual([role, []])
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
    expect((await write(['liquidator', other, 'movedMax=5'])).err).toMatch(
      /Nobody says money|movedMax is "5"/,
    )
    expect((await write(['liquidator', other, 'colour=red', '--defaults'])).err).toContain(
      'Nothing asks for colour',
    )
    expect((await write(['cook', other, '--defaults'])).err).toContain('ships no policy of the role cook')
    expect(existsSync(other)).toBe(false)
  })

  it('finds a function that no contract has by the code, and without a node by its name', async () => {
    const text = readFileSync(fileOf('liquidator.yaml'), 'utf8')
    const alone = fileOf('alone.yaml')
    const { chain, ...rest } = loadYaml(config).value as { chain: { nodes: object }; deployment: object }
    const nodes = { ...chain.nodes, read: ['http://127.0.0.1:1'] }
    writeFileSync(alone, JSON.stringify({ ...rest, chain: { ...chain, nodes } }))
    const checked = async (was: string, is: string, run = config) => {
      expect(text).toContain(was)
      const file = fileOf('slip.yaml')
      writeFileSync(file, text.replace(was, is))
      const said = { out: '', err: '' }
      const code = await rolekeeper(['policy', 'check', file, '--config', run], {
        outIsTty: false,
        errIsTty: false,
        env: env(),
        out: (more) => {
          said.out += more
        },
        err: (more) => {
          said.err += more
        },
      })
      return { code, ...said }
    }
    const liquidate = 'liquidate(address,address,uint256,uint256,address,uint256)'
    const [slip, named] = [
      ['function liquidate(', 'function liquidat('],
      /:\d+:\d+: no shipped policy names liquidat\(/,
    ] as const
    const known = await checked(slip[0], slip[1])
    expect(known).toMatchObject({ code: 1, err: '' })
    expect(known.out).toMatch(/slip\.yaml:\d+:\d+: no contract of the deployment has liquidat\(/)
    expect(known.out).toContain(`Fix: if it is a slip, write ${liquidate}`)
    const unknown = await checked(slip[0], slip[1], alone)
    expect(unknown.out).toMatch(named)
    expect(unknown.out).toContain('No node was asked')
    // Nor is anything known by the code of what is pinned otherwise than it is.
    const { assets, ...pinned } = rest.deployment as { assets: { address: string }[] }
    const [asset, ...others] = assets
    const codeHash = `0x${'00'.repeat(32)}`
    const wrong = fileOf('wrong.yaml')
    const deployment = { ...pinned, assets: [{ ...asset, codeHash }, ...others] }
    writeFileSync(wrong, JSON.stringify({ ...rest, chain, deployment }))
    const partly = await checked(slip[0], slip[1], wrong)
    expect(partly.out).toContain(`No node shows what is pinned at ${asset?.address.toLowerCase()}: functions`)
    expect(partly.out).toMatch(named)
    expect(known.out).not.toContain('No node')
    // Of a type nobody knows without the code.
    const other = [
      'uint256 repayAssets, uint256 minCollateralOut',
      'uint256 repayAssets, uint128 minCollateralOut',
    ] as const
    expect((await checked(...other, alone)).code).toBe(0)
    expect(await checked(...other)).toMatchObject({ code: 1 })
    const view = ['function closeFactorBps()', 'function closeFactorBp()'] as const
    expect((await checked(...view)).code).toBeGreaterThan(0)
    const denied = [
      '  allow:\n',
      '  deny: [{ id: none, function: "function aprove(address spender, uint256 amount)" }]\n  allow:\n',
    ] as const
    expect((await checked(...denied)).out).toMatch(/:\d+:\d+: no shipped policy names aprove\(/)
  })
})
