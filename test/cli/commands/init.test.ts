import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadRunConfig } from '../../../src/config/config.ts'
import { HAND_ROLES, ROLES } from '../../../src/service/contract/roles.ts'
import { startWard, type Ward } from '../../keeper/doctor/ward.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { examineInTime } from '../../support/examine.ts'

let ward: Ward
let folder: string
beforeAll(async () => {
  ward = await startWard()
  folder = newDirectory()
})
afterAll(async () => {
  await ward?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const answers = () => {
  const { serviceUrl, rpcUrl, kmsUrl, signers } = ward.sandbox.info
  return [
    ...[`service=${serviceUrl}`, `nodes=${rpcUrl},${ward.proxy.url}`, `endpoint=${kmsUrl}`],
    ...[
      'credentials=ROLEKEEPER_KMS',
      'roles=liquidator',
      `key.liquidator=${signers.liquidator.keyId}`,
      '--defaults',
    ],
  ]
}
const env = () => Object.fromEntries(Object.entries(ward.env))

it("writes the sandbox's own as an example, in shadow, which the doctor passes, and overwrites nothing", async () => {
  const file = join(folder, 'example', 'run.yaml')
  const args = ['init', file, '--sandbox', '--directory', ward.sandbox.directory]
  const { code, err } = await runCommand(args)
  expect([code, err]).toEqual([0, expect.stringContaining('asset sUSD 0x')])
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('# In shadow a role signs nothing')
  const config = loadRunConfig(file, { env: ward.env, isWellKnown: () => false })
  expect(config.agents.map(({ role, mode }) => `${role} ${mode}`)).toEqual(
    [...ROLES, ...HAND_ROLES].map((role) => `${role} shadow`),
  )
  // A fund that somebody else manages is not ours: pinned, its money would count as ours.
  const { funds } = ward.sandbox.info.deployment
  expect(config.deployment.funds.map(({ address }) => address)).toEqual(
    funds.map(({ address }) => address.toLowerCase()),
  )
  expect(err).toMatch(
    /^fund rivalFund 0x[0-9a-f]{40} is left out: 0x[0-9a-f]{40} manages it, and no key here$/m,
  )
  // Each role has something to do within minutes, and what is careful stands in a file of its own.
  const paces = ['liquidator', 'allocator', 'nav-reporter', 'asset-manager', 'rfq-bidder']
  for (const { role, policy } of config.agents)
    expect(policy).toBe(
      join(folder, 'example', 'policies', paces.includes(role) ? 'sandbox' : '', `${role}.yaml`),
    )
  expect(readFileSync(join(folder, 'example', 'policies', 'nav-reporter.yaml'), 'utf8')).toContain(
    'every: "1 d"',
  )
  const findings = await examineInTime(config)
  expect(findings.filter(({ state }) => state === 'failing')).toEqual([])
  // What the sandbox keeps in files is found from wherever the configuration is.
  const files = config.sources.flatMap((source) => ('file' in source ? [source.file] : []))
  expect(files).toEqual(
    ['recoveryFund.csv', 'recoveryFund.json', 'primeVault.csv', 'primeVault.json'].map((name) =>
      join(ward.sandbox.directory, 'nav', name),
    ),
  )
  const again = await runCommand(args)
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringContaining('is there already, and nothing is overwritten'),
  ])
  expect(readFileSync(file, 'utf8')).toBe(text)
})

it('writes nothing before a person has confirmed every address', async () => {
  const file = join(folder, 'confirmed', 'run.yaml')
  const list = join(folder, 'addresses')
  const { assets } = ward.sandbox.info.deployment
  writeFileSync(list, assets.map(({ address }) => address).join('\n'))
  const refused = await runCommand(['init', file, ...answers(), '--confirmed', list], env())
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringMatching(/Nobody confirms the market (btc|eth)Market 0x/),
  ])
  expect(existsSync(file)).toBe(false)
  const asked = await runCommand(['init', file, ...answers()], env())
  expect([asked.code, existsSync(file)]).toEqual([2, false])
  // Production refuses a service without TLS: then nothing is left either.
  const production = await runCommand(['init', file, ...answers(), '--yes'], env())
  expect([production.code, existsSync(file)]).toEqual([2, false])
  writeFileSync(list, `${refused.err}${production.err}`)
  const example = ['--sandbox', '--directory', ward.sandbox.directory, 'roles=liquidator']
  const all = await runCommand(['init', file, ...example, '--confirmed', list])
  expect([all.code, existsSync(file)], all.err).toEqual([0, true])
})
