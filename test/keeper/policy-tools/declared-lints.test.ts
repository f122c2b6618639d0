import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { compilePolicy } from '../../../src/keeper/policy/role-policy.ts'
import { lintsOf } from '../../../src/keeper/policy-tools/lints.ts'
import { ASSUMPTIONS } from '../../../src/service/contract/assumptions.ts'
import { deployment } from '../../guard/kinds.ts'
import { newDirectory } from '../../support/directory.ts'

const SHIPPED = readFileSync('policies/asset-manager.yaml', 'utf8').replace(
  './shared/',
  `${process.cwd()}/policies/shared/`,
)
const FEES = '{ managementFee: "0.5 %", performanceFee: "5 %", recipient: self }'

const vaults = ['primeVault', 'growthVault'].flatMap((name) =>
  deployment.vaults.slice(0, 1).map((pin) => ({ ...pin, name })),
)

/** What is said of the shipped policy in which these texts were replaced, each with its place in the file. */
function lints(...replaced: readonly (readonly [was: string, is: string])[]) {
  const text = replaced.reduce((all, [was, is]) => {
    expect(all).toContain(was)
    return all.replace(was, is)
  }, SHIPPED)
  const file = join(newDirectory(), 'asset-manager.yaml')
  writeFileSync(file, text)
  const does = agents.find(({ role }) => role === 'asset-manager')
  if (does === undefined) throw new TypeError('nobody is the asset-manager')
  const yaml = loadWithIncludes(file)
  const ground = { environment: 'sandbox' as const, service: { assumptions: ASSUMPTIONS } }
  return lintsOf(
    yaml,
    compilePolicy(yaml, does, { ...ground, deployment: { ...deployment, vaults } }),
    new Map(),
  )
    .filter(({ path }) => path.includes('declared'))
    .map(({ path, problem, fix }) => `${/:\d+:\d+$/.test(yaml.at(path)) ? '' : 'NOWHERE '}${problem}: ${fix}`)
}

it('takes a fee of one step, and says of a basis point more that it is raised by hand', () => {
  expect(lints()).toEqual([])
  const above = FEES.replace('"0.5 %"', '"0.51 %"').replace('"5 %"', '"5.01 %"')
  expect(lints([FEES, above])).toMatchInlineSnapshot(`
    [
      "strategy.declared.vaultSettings.0.fees.managementFee is 0.51 %, and guard.sanity.ownership.managementFeeRaiseMax 0.5 %: while svNotice takes less than 0.01 %, the guard refuses to raise it so far at once: declare at most 0.5 % more than it takes now, and the next step by hand once that is approved and there",
      "strategy.declared.vaultSettings.0.fees.performanceFee is 5.01 %, and guard.sanity.ownership.performanceFeeRaiseMax 5 %: while svNotice takes less than 0.01 %, the guard refuses to raise it so far at once: declare at most 5 % more than it takes now, and the next step by hand once that is approved and there",
    ]
  `)
  const manager = `${FEES}\n        borrowerManagerFee: { fee: "5.01 %", recipient: self }`
  expect(lints([FEES, manager])).toMatchInlineSnapshot(`
    [
      "strategy.declared.vaultSettings.0.borrowerManagerFee.fee is 5.01 %, and guard.sanity.ownership.borrowerManagerFeeRaiseMax 5 %: while svNotice takes less than 0.01 %, the guard refuses to raise it so far at once: declare at most 5 % more than it takes now, and the next step by hand once that is approved and there",
    ]
  `)
  expect(lints([FEES, manager.replace('5.01 %', '5 %')])).toEqual([])
})

it('knows a vault that is pinned or declared, and says of any other what was meant', () => {
  expect(lints(['- vault: svNotice', '- vault: svNotize'])).toMatchInlineSnapshot(`
    [
      "strategy.declared.vaultSettings.0.vault is svNotize, which neither deployment.vaults nor strategy.declared.vaults has: nothing of it is ever applied: write svNotice, or give its entry in deployment.vaults that name; there are primeVault, growthVault, svNotice",
    ]
  `)
  expect(lints(['- vault: svNotice', '- vault: primeVault'])).toEqual([])
  expect(lints(['- vault: growthVault', '- vault: growthVolt'])).toMatchInlineSnapshot(`
    [
      "strategy.declared.mobility.1.vault is growthVolt, which neither deployment.vaults nor strategy.declared.vaults has: nothing of it is ever applied: write growthVault, or give its entry in deployment.vaults that name; there are primeVault, growthVault, svNotice",
    ]
  `)
})
