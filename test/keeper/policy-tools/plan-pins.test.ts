import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, getContractAddress, type Hex } from 'viem'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { pinText } from '../../../src/cli/output/pin-text.ts'
import { missingPin } from '../../../src/keeper/policy-tools/plan-pins.ts'
import { addr } from '../../../src/service/contract/scalars.ts'
import { newDirectory } from '../../support/directory.ts'

const SIGNER = `0x${'a1'.repeat(20)}` as const
const HASH: Hex = `0x${'5c'.repeat(32)}`
const at = (nonce: bigint) => addr.parse(getContractAddress({ from: SIGNER, nonce }))
/** Nodes by which the signer has sent three transactions. */
const nodes = (codeHash: Hex | null) => ({
  codeHashes: async () => [codeHash],
  transactionCount: async () => 3,
})
const pin = (address: Address) => ({ list: 'vaults', name: 'V', address })

it('says what to pin, and that our signer made it only where one of its own transactions could have', async () => {
  const address = at(2n)
  expect(await missingPin(pin(address), SIGNER, nodes(HASH))).toEqual({
    list: 'vaults',
    name: 'V',
    address,
    codeHash: HASH,
    isOurs: true,
  })
  // Of a nonce that it has not used yet, anybody may say that it is there.
  expect(await missingPin(pin(at(3n)), SIGNER, nodes(HASH))).toMatchObject({ isOurs: false })
  expect(await missingPin(pin(`0x${'b2'.repeat(20)}`), SIGNER, nodes(HASH))).toMatchObject({ isOurs: false })
})

/** What `plan` writes for a vault, put where it says into a run configuration, as it is. */
function pasted(before: string, list: 'vaults' | 'contracts') {
  const file = join(newDirectory(), 'run.yaml')
  writeFileSync(file, before)
  const entry = { list, name: 'V', address: at(2n), asset: SIGNER, codeHash: HASH, isOurs: true }
  const [what = '', line = '', ...more] = pinText(entry, file)
  expect(more).toEqual([])
  const [, where, number] =
    /(behind "[[{]"|above the others|under deployment).*run\.yaml:(\d+)\):$/.exec(what) ?? []
  const lines = before.split('\n')
  const at0 = Number(number) - 1
  // A line of its own, also where the brackets end in theirs.
  const [, head = '', rest = ''] = /^(.*?\[)(\].*)$/.exec(lines[at0] ?? '') ?? [null, lines[at0], '']
  const now = [...lines.slice(0, at0), `${head}\n${line}${rest}`, ...lines.slice(at0 + 1)].join('\n')
  return { where, deployment: parse(now).deployment[list] }
}

it.each([
  ['items of YAML', 'deployment:\n  vaults:\n    # ours\n    - name: a\n      address: "0x1"\n', 'vaults', 2],
  ['items in brackets', 'deployment:\n  vaults: [\n    { name: a }]\n', 'vaults', 2],
  ['brackets that end in their own line', 'deployment:\n  vaults: []\n  funds: []\n', 'vaults', 1],
  ['JSON', '{\n "deployment": {\n  "vaults": [\n   { "name": "a" }\n  ]\n }\n}', 'vaults', 2],
  ['JSON without such a list', '{\n "deployment": {\n  "vaults": [{ "name": "a" }]\n }\n}', 'contracts', 1],
  ['YAML without such a list', 'deployment:\n  vaults: [{ name: a }]\n', 'contracts', 1],
] as const)('writes a pin that is pasted as it is: %s', (_, before, list, count) => {
  const { where, deployment } = pasted(before, list)
  expect(where).toBeDefined()
  expect(deployment).toHaveLength(count)
  expect(deployment[0]).toEqual({ name: 'V', address: at(2n), codeHash: HASH, asset: SIGNER })
})

it('says what a vault lends, where the declaration does', async () => {
  const lends = { ...pin(at(2n)), asset: SIGNER }
  expect(await missingPin(lends, SIGNER, nodes(HASH))).toMatchObject({ asset: SIGNER })
})

it('says nothing where there is no code', async () => {
  expect(await missingPin(pin(at(0n)), SIGNER, nodes(null))).toBeNull()
})
