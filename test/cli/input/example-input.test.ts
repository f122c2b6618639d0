import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { exampleOf } from '../../../src/cli/input/example-input.ts'
import { readInput } from '../../../src/cli/input/input-file.ts'
import { ownConfigAt } from '../../../src/cli/input/own-addresses.ts'
import { HAND_ROLES, SHIPPED_ROLES } from '../../../src/service/contract/roles.ts'
import {
  agentRoleOf,
  WORKFLOW_CATALOGUE,
  WORKFLOW_TYPES,
  type WorkflowType,
} from '../../../src/service/contract/workflow-types.ts'
import { VAULT } from '../../guard/fixtures.ts'
import { deployment } from '../../guard/kinds.ts'
import { CHANNEL } from '../../guard/kinds-by-hand.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { policyFileOf } from '../../support/policies.ts'

it.each(WORKFLOW_TYPES)('%s takes its example whole, and nothing more or less than that', (type) => {
  const schema: z.ZodType = WORKFLOW_CATALOGUE[type].input
  const { input } = exampleOf(schema)
  expect(schema.safeParse(input).error).toBeUndefined()
  expect(schema.safeParse({ ...input, more: '1' }).success).toBe(false)
  const [name = ''] = Object.keys(input)
  const { [name]: _, ...less } = input
  expect(schema.safeParse(less).success).toBe(false)
})

it('names no address twice, and the other choices where there are some', () => {
  const { input } = exampleOf(WORKFLOW_CATALOGUE['role.liquidator.liquidate'].input)
  const addresses = Object.values(input).filter((each) => /^0x/.test(String(each)))
  expect(new Set(addresses).size).toBe(4)
  expect(exampleOf(WORKFLOW_CATALOGUE['role.vault_owner.vaultOwnerTransferUpdate'].input)).toMatchObject({
    input: {
      vaultAddress: `0x${'1'.repeat(40)}`,
      action: 'offer',
      newOwnerAddress: `0x${'2'.repeat(40)}`,
    },
    others: ['action: accept', 'action: cancel'],
  })
})

const CONFIG = 'config/example.yaml'
const exampleIn = (type: WorkflowType, role: string, config = CONFIG) =>
  exampleOf(WORKFLOW_CATALOGUE[type].input, ownConfigAt({ config }, role)?.own)
const digit = (one: string) => `0x${one.repeat(40)}` as const

it('takes the addresses that a run configuration pins, and its signer to receive', () => {
  const { input, addresses } = exampleIn('role.liquidator.liquidate', 'liquidator')
  expect(input).toMatchObject({
    marketAddress: digit('3'),
    vaultAddress: digit('5'),
    borrowerAddress: digit('1'),
    recipientAddress: digit('6'),
  })
  expect(addresses.map(({ member, named }) => [member, named.map(({ name }) => name).join()])).toEqual([
    ['marketAddress', 'btc'],
    ['vaultAddress', 'prime'],
    ['borrowerAddress', ''],
    ['recipientAddress', 'liquidator'],
  ])
  const channel = exampleIn('role.vault_manager.partnerChannelDeploy', 'liquidator')
  expect(channel.input).toMatchObject({ assetAddress: digit('1'), resellerAddress: digit('1') })
  expect(channel.addresses[1]?.named.map(({ name }) => name)).toEqual(['USDC', 'cbBTC'])
})

it('moves from the first market to the second where there are two, and names none twice before all were', () => {
  const markets = ['a', 'b'].map((name) => ({ name, address: digit(name) }))
  const own = { of: (member: string) => (member === 'marketAddress' ? markets : []), others: [] }
  const { input } = exampleOf(WORKFLOW_CATALOGUE['role.allocator.vaultReallocationBatch'].input, own)
  expect(input).toMatchObject({
    withdrawals: [{ marketAddress: digit('a') }],
    supplies: [{ marketAddress: digit('b') }],
  })
})

it('knows nothing where there is no run configuration, and says so of one that is named', () => {
  const directory = newDirectory()
  expect(ownConfigAt({ directory }, 'allocator')).toBeNull()
  expect(() => exampleIn('deposit', 'allocator', join(directory, 'run.yaml'))).toThrow('run.yaml')
})

it('is written for a file, with whose each address is beside it', async () => {
  const { code, out, err } = await runCommand(['submit', 'deposit', '--example', '--config', CONFIG])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ vaultAddress: digit('5'), receiverAddress: digit('1') })
  expect(err).toBe(
    'deposit belongs to no role: name one whose policy allows it with --role. vaultAddress is prime. receiverAddress is made up: put yours there.\n',
  )
  const own = await runCommand(['submit', 'deposit', '--example', '--role', 'liquidator', '--config', CONFIG])
  expect(own.err).toBe(
    'deposit takes the signer and the policy of the liquidator. vaultAddress is prime; receiverAddress is liquidator.\n',
  )
})

/** Types that people submit, each with its role. */
const BY_HAND = WORKFLOW_TYPES.flatMap((type) => {
  const role = HAND_ROLES.find((each) => each === agentRoleOf(type))
  return role === undefined ? [] : [[type, role] as const]
})

/** A run configuration of all shipped roles, each with a signer of its own. */
function everyRole(): string {
  const text = (pins: readonly object[]) =>
    JSON.parse(JSON.stringify(pins), (key, value) => (key === 'decimals' ? String(value) : value))
  const file = join(newDirectory(), 'run.yaml')
  const config = {
    environment: 'sandbox',
    service: { assumptions: {} },
    deployment: { ...deployment, assets: text(deployment.assets) },
    agents: SHIPPED_ROLES.map((role, index) => ({
      role,
      mode: 'live',
      policy: policyFileOf(role),
      signer: { kms: { address: `0x${`e${index + 1}`.repeat(20)}` } },
    })),
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}

describe('an example of a role that is worked by hand', () => {
  const config = everyRole()
  const written = async (type: WorkflowType) => {
    const { out, err } = await runCommand(['submit', type, '--example', '--config', config])
    return { input: JSON.parse(out), err }
  }

  it.each(BY_HAND)('passes its policy as it stands: %s', async (type, role) => {
    const { input, err } = await written(type)
    expect(err).toMatch(new RegExp(`^${type} takes the signer and the policy of the ${role}\\.`))
    expect(err).not.toContain('refuses')
    expect(WORKFLOW_CATALOGUE[type].input.safeParse(input).success).toBe(true)
  })

  it('gives to somebody else what it would give, an asset that the policy lists, and whole shares', async () => {
    const signer = (role: (typeof SHIPPED_ROLES)[number]) =>
      `0x${`e${SHIPPED_ROLES.indexOf(role) + 1}`.repeat(20)}`
    const { input } = await written('role.lender.vaultShareMobilityInvestorAction')
    expect(input).toMatchObject({ recipientAddress: signer('liquidator'), shares: '1000000000000' })
    const asset = await written('role.asset_issuer.assetSubmissionRequestCreate')
    expect(asset.input).toMatchObject({ assetAddress: VAULT })
    const redeem = await written('role.investor.partnerWrapperRedeem')
    expect(redeem.input).toMatchObject({
      wrapperAddress: CHANNEL,
      shares: '1000000000000000000',
      minAssets: '1',
      receiverAddress: signer('investor'),
    })
    const role = await written('role.vault_owner.vaultRoleSettingsSave')
    expect(role.input).toMatchObject({ accountAddress: signer('liquidator') })
  })

  it('is told with why, where nothing that is configured passes', async () => {
    const { err } = await runCommand([
      ...[
        'submit',
        'role.curator.vaultMarketListingSave',
        '--role',
        'partner',
        '--example',
        '--config',
        config,
      ],
    ])
    expect(err).toContain('The policy refuses it as it stands: workflow_not_allowed: No rule of the partner')
  })
})

describe('an input in a file', () => {
  const folder = newDirectory()
  const type = 'role.vault_owner.vaultAllocate'
  const good = { vaultAddress: digit('a'), marketAddress: digit('b'), assets: '1' }
  const read = (text: string | Buffer, of: WorkflowType = type) => {
    const file = join(folder, 'input.json')
    writeFileSync(file, text)
    return readInput(of, file, ' --directory d')
  }

  it('goes out as it is', () => {
    const spelt = { ...good, vaultAddress: '0x52908400098527886E0F7030069857D2E4169EE7' }
    expect(read(JSON.stringify(spelt))).toEqual(spelt)
    expect(read(JSON.stringify(good))).toEqual(good)
    // As some editors begin a file.
    expect(read(`\ufeff${JSON.stringify(good)}`)).toEqual(good)
    const twice = { withdrawals: [{ marketAddress: digit('b'), assets: '1' }], vaultAddress: digit('a') }
    const batch = { ...twice, supplies: [{ marketAddress: digit('c'), assets: '1' }] }
    expect(read(JSON.stringify(batch), 'role.vault_owner.vaultReallocationBatch')).toEqual(batch)
  })

  it('asks for the checksum of what is an address, and of no name that looks like one', () => {
    const named = { vaultAddress: digit('a'), managerName: '0x52908400098527886E0F7030069857D2E4169Ee7' }
    const shown = { ...named, website: 'https://example.com', logoUrl: 'https://example.com/logo.svg' }
    expect(read(JSON.stringify(shown), 'role.vault_owner.vaultManagementSettingsSave')).toEqual(shown)
  })

  it.each<[string, string | Buffer, string]>([
    ['nothing', ' \n', 'input.json is empty. Fix: write the input into it'],
    ['a comment', '{\n "website": "https://a", // b\n}', 'has a comment in line 2, which JSON does not have'],
    ['a comma too many', '{\n "assets": "1",\n}', 'is no JSON from line 3, column 1 on. Fix: look there for'],
    ['a list', '[{}, {}]', 'holds a list of 2. Fix: an input is one object'],
    ['a text', '"deposit"', 'holds a string. Fix: write the input as one JSON object'],
    ['half of one', '{\n "assets": "1', 'is no JSON from line 2, column 12 on. Fix: look there for'],
    [
      'one without its end',
      '{\n "assets": "1"\n',
      'ends in line 3 before its JSON is whole. Fix: write the rest',
    ],
    ['a number of no JSON', '{"assets": NaN}', 'is no JSON from line 1, column 12 on. Fix: look there for'],
    [
      'a member twice',
      '{"a": {}, "assets": "1",\n "asset\\u0073": "2"}',
      'has "assets" twice in one object, again in line 2. Fix: keep the one that is meant;',
    ],
    [
      'what no walk ends in',
      `{"assets":\n ${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
      'is nested deeper than any input, from line 2 on. Fix: look there for a bracket too many;',
    ],
    [
      'letters of another encoding',
      Buffer.from('ff7b007d', 'hex'),
      'is no text in UTF-8. Fix: save it as UTF-8',
    ],
    ['too much', `"${'a'.repeat(65_536)}"`, 'has 65,538 bytes; an input has at most 65,536 bytes'],
  ])('is told what is wrong where it holds %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message)
  })

  it.each<[string, object, string, WorkflowType?]>([
    [
      'a misspelt member',
      { asets: '1', assets: undefined },
      '"asets" is no member of a vaultAllocate. Fix: perhaps `assets`;',
    ],
    [
      'a member of another',
      { note: '1' },
      '"note" is no member of a vaultAllocate. Fix: its members are vaultAddress',
    ],
    [
      'none',
      { assets: undefined },
      'assets is missing. Fix: add it, base units of the asset, as digits in quotes',
    ],
    [
      'an amount with its unit',
      { assets: '1 sUSD' },
      'assets is "1 sUSD". Fix: write base units of the asset',
    ],
    [
      'a number',
      { assets: 1.5 },
      'assets is 1.5. Fix: write base units of the asset, as digits in quotes: of one with 6',
    ],
    [
      'half an address',
      { vaultAddress: '0xab' },
      'vaultAddress is "0xab". Fix: write an address in quotes: 0x and 40',
    ],
    [
      'capitals that do not fit',
      { vaultAddress: '0x52908400098527886E0F7030069857D2E4169Ee7' },
      'EIP-55): a digit of it may be wrong. Fix: compare it with where you have it from; if every digit is right, write 0x52908400098527886E0F7030069857D2E4169EE7;',
    ],
    [
      'an element that is misspelt',
      {
        marketAddress: undefined,
        assets: undefined,
        withdrawals: [{ market: digit('b'), assets: '1' }],
        supplies: [],
      },
      '"withdrawals[0].market" is no member of withdrawals[0]. Fix: perhaps `marketAddress`;',
      'role.vault_owner.vaultReallocationBatch',
    ],
    [
      'a choice that there is not',
      { marketAddress: undefined, assets: undefined, action: 'ofer' },
      'action is "ofer". Fix: write one of "offer", "accept", "cancel";',
      'role.vault_owner.vaultOwnerTransferUpdate',
    ],
    [
      'a member of another choice',
      { marketAddress: undefined, assets: undefined, action: 'accept', newOwnerAddress: digit('a') },
      '"newOwnerAddress" is no member of a vaultOwnerTransferUpdate. Fix: its members are vaultAddress, action;',
      'role.vault_owner.vaultOwnerTransferUpdate',
    ],
    [
      'a part in quotes',
      {
        marketAddress: undefined,
        assets: undefined,
        borrowerManagerFeeBps: '5',
        recipientAddress: digit('a'),
      },
      'borrowerManagerFeeBps is "5". Fix: write basis points, a number from 0 to 10000 without quotes: 100 is 1 %',
      'role.vault_owner.vaultCuratorFeeSettingsSave',
    ],
  ])('is told where it has %s', (_, changes, message, of) => {
    expect(() => read(JSON.stringify({ ...good, ...changes }), of)).toThrow(message)
  })
})
