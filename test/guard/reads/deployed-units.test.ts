import { type Address, encodeAbiParameters, type Hex, isAddress, toFunctionSelector } from 'viem'
import { expect, it } from 'vitest'
import { askUnits } from '../../../src/guard/reads/deployed-units.ts'
import { createReads } from '../../../src/guard/reads/views.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import { COLLATERAL, deployment, LOAN, MARKET, STRANGER, VAULT } from '../fixtures.ts'

const FUND: Address = `0x${'f0'.repeat(20)}`
const [market] = deployment.markets
const oracle = market?.oracle ?? LOAN
const pinned: Deployment = {
  ...deployment,
  markets: deployment.markets.filter(({ address }) => address === MARKET),
  funds: [{ address: FUND, codeHash: `0x${'0f'.repeat(32)}`, quoteAsset: LOAN }],
}

type Script = Readonly<Record<string, bigint | string | null>>

const WAD = 10n ** 18n
/** 2,000,000.000001 sUSD in a vault of 1,600,000 whole shares of 12 decimals; sBTC at 60,000 sUSD. */
const TRUE: Script = {
  [`${LOAN} decimals()`]: 6n,
  [`${COLLATERAL} decimals()`]: 8n,
  [`${MARKET} loanAsset()`]: LOAN,
  [`${MARKET} collateralAsset()`]: COLLATERAL,
  [`${MARKET} oracle()`]: oracle,
  [`${VAULT} asset()`]: LOAN,
  [`${VAULT} decimals()`]: 12n,
  [`${VAULT} totalAssets()`]: 2_000_000_000_001n,
  [`${VAULT} totalSupply()`]: 1_600_000n * 10n ** 12n,
  [`${VAULT} convertToAssets(uint256)`]: 1_250_000n * 10n ** 24n,
  [`${FUND} quoteAsset()`]: LOAN,
  [`${oracle} read()`]: 60_000n * WAD,
  [`${FUND} appraise(address,uint256,address)`]: 60_000n * 10n ** 12n,
}

/** What a judge of these units says, where the chain answers so. */
const judge = (changes: Script = {}, of: Deployment = pinned) => refusalOf(changes, of)[0]?.message ?? null

function refusalOf(changes: Script, of: Deployment) {
  const reads = createReads()
  const judged = askUnits(of, reads)
  const script = Object.entries({ ...TRUE, ...changes })
  reads.fill(
    reads.calls.map(({ to, data }): Hex | null => {
      const said = script.find(([name]) => {
        const [at, signature = ''] = name.split(' ')
        return at === to && data.startsWith(toFunctionSelector(signature))
      })?.[1]
      if (said === undefined || said === null) return null
      if (typeof said === 'string') {
        return isAddress(said)
          ? encodeAbiParameters([{ type: 'address' }], [said])
          : encodeAbiParameters([{ type: 'string' }], [said])
      }
      const word = encodeAbiParameters([{ type: 'uint256' }], [said])
      return data === toFunctionSelector('read()') ? `${word}${'1'.padStart(64, '0').repeat(3)}` : word
    }),
  )
  return judged()
}

it('accepts units that are the chain’s, and what has no view of its units', () => {
  expect(judge()).toBeNull()
  const silent = Object.fromEntries(
    Object.keys(TRUE)
      .filter((name) => !name.startsWith(LOAN) && !name.startsWith(COLLATERAL))
      .map((name) => [name, null]),
  )
  expect(judge(silent)).toBeNull()
})

it.each<[string, Script, string, string?]>([
  [
    'decimals of an asset',
    { [`${COLLATERAL} decimals()`]: 18n },
    'is 8 by the deployment; the chain says 18',
    'assets',
  ],
  ['an asset that says none', { [`${LOAN} decimals()`]: null }, 'the chain says nothing', 'assets'],
  [
    'a market of another loan asset',
    { [`${MARKET} loanAsset()`]: COLLATERAL },
    'The loanAsset of market',
    'markets',
  ],
  [
    'a market of another collateral',
    { [`${MARKET} collateralAsset()`]: LOAN },
    'The collateralAsset of',
    'markets',
  ],
  ['a market of another oracle', { [`${MARKET} oracle()`]: STRANGER }, 'The oracle of market', 'markets'],
  [
    'a vault of an asset that is not pinned',
    { [`${VAULT} asset()`]: STRANGER },
    'The asset of vault',
    'assets',
  ],
  [
    'a share price in other units',
    { [`${VAULT} convertToAssets(uint256)`]: 1_250_000n * 10n ** 27n },
    'shares of vault',
    'vaults',
  ],
  ['a share price that is not said', { [`${VAULT} convertToAssets(uint256)`]: null }, 'so nothing is signed'],
  ['shares of fewer decimals than their asset', { [`${VAULT} decimals()`]: 5n }, 'for its shares', 'vaults'],
  [
    'a fund of another quote asset',
    { [`${FUND} quoteAsset()`]: COLLATERAL },
    'The quoteAsset of fund',
    'funds',
  ],
  [
    'a price of another scale',
    { [`${oracle} read()`]: 60_000n * 10n ** 8n },
    'are worth in market',
    'assets',
  ],
])('refuses %s', (_, changes, message, path) => {
  expect(refusalOf(changes, pinned)[0]).toMatchObject({
    check: path === undefined ? 'read_failed' : 'units_differ',
    message: expect.stringMatching(
      path === undefined ? message : new RegExp(`${message}.*see deployment\\.${path}\\.$`),
    ),
  })
})

it('writes the decimals that an asset says, and nothing where it says none', () => {
  const fixOf = (decimals: bigint | null) =>
    refusalOf({ [`${COLLATERAL} decimals()`]: decimals }, pinned)[0]?.fix
  expect(fixOf(18n)).toBe('write `decimals: "18"` there, or find out what answers in its place.')
  expect(fixOf(null)).toBe('correct the deployment, or find out what answers in its place.')
})

it('lets a token have a name of ours, but not that of another of ours', () => {
  const named = (symbol: string) => refusalOf({ [`${LOAN} symbol()`]: symbol }, pinned)[0]
  expect(named('sUSD')).toBeUndefined()
  expect(named('USDX')).toBeUndefined()
  expect(named('sBTC')).toMatchObject({
    check: 'units_differ',
    message: `The symbol of ${LOAN} is sUSD by the deployment; the chain says sBTC: see deployment.assets.`,
    fix: expect.stringContaining('write `symbol: sBTC` there'),
  })
})

it('holds what a vault is said to lend to what it does lend', () => {
  const lending = (asset: Address) => ({
    ...pinned,
    vaults: pinned.vaults.map((vault) => ({ ...vault, asset })),
  })
  expect(judge({}, lending(LOAN))).toBeNull()
  expect(refusalOf({}, lending(COLLATERAL))[0]).toMatchObject({
    message: `The asset of vault ${VAULT} is ${COLLATERAL} by the deployment; the chain says ${LOAN}: see deployment.vaults.`,
    fix: expect.stringContaining(`asset: "${LOAN}"`),
  })
  // Its amounts would be shown in what nobody but the file says.
  const silent = { [`${VAULT} asset()`]: null }
  expect(judge(silent)).toBeNull()
  expect(refusalOf(silent, lending(LOAN))[0]).toMatchObject({
    message: expect.stringContaining('the chain says nothing: see deployment.vaults.'),
    fix: 'correct the deployment, or find out what answers in its place.',
  })
})

it('judges no price that one of the two does not say', () => {
  expect(judge({ [`${oracle} read()`]: null })).toBeNull()
  expect(judge({ [`${FUND} appraise(address,uint256,address)`]: null })).toBeNull()
})

it('accepts a price and a share price to ten basis points, and not one more', () => {
  const appraised = (assets: bigint) => judge({ [`${FUND} appraise(address,uint256,address)`]: assets })
  expect(appraised(60_060n * 10n ** 12n)).toBeNull()
  expect(appraised(60_066n * 10n ** 12n)).toContain('are worth in market')
})

it('judges no share price of a vault with less than one whole share', () => {
  const tiny = { [`${VAULT} totalSupply()`]: 10n ** 12n - 1n, [`${VAULT} convertToAssets(uint256)`]: 7n }
  expect(judge(tiny)).toBeNull()
})

it('accepts them to ten basis points below, and not one base unit less', () => {
  const at = (assets: bigint) =>
    judge({ [`${oracle} read()`]: 60_060n * WAD, [`${FUND} appraise(address,uint256,address)`]: assets })
  expect(at(60_000n * 10n ** 12n)).toBeNull()
  expect(at(60_000n * 10n ** 12n - 1n)).toContain('are worth in market')
  expect(at(1n)).toContain('are worth in market')
})

it('has a fund appraise a million whole tokens, of the markets that lend what the fund counts in', () => {
  const asked = (of: Deployment) => {
    const reads = createReads()
    askUnits(of, reads)
    return reads.calls.filter(({ to }) => to === FUND).map(({ data }) => data)
  }
  const probe = encodeAbiParameters(
    [{ type: 'address' }, { type: 'uint256' }, { type: 'address' }],
    [COLLATERAL, 10n ** 14n, MARKET],
  )
  const selector = toFunctionSelector('appraise(address,uint256,address)')
  expect(asked(pinned)).toContain(`${selector}${probe.slice(2)}`)
  const other = { ...pinned, funds: pinned.funds.map((fund) => ({ ...fund, quoteAsset: COLLATERAL })) }
  expect(asked(other).filter((data) => data.startsWith(selector))).toEqual([])
})

it('asks for all that a share price follows from', () => {
  for (const name of ['decimals()', 'totalAssets()', 'totalSupply()'])
    expect(judge({ [`${VAULT} ${name}`]: null }), name).toContain('so nothing is signed')
})

it('judges a vault of exactly one whole share, and one whose shares count like its asset', () => {
  const one = {
    [`${VAULT} totalSupply()`]: 10n ** 12n,
    [`${VAULT} totalAssets()`]: 2_000_000n,
  }
  expect(judge({ ...one, [`${VAULT} convertToAssets(uint256)`]: 2n * 10n ** 30n })).toBeNull()
  expect(judge({ ...one, [`${VAULT} convertToAssets(uint256)`]: 2n * 10n ** 33n })).toContain(
    'shares of vault',
  )
  const alike = {
    [`${VAULT} decimals()`]: 6n,
    [`${VAULT} totalSupply()`]: 1_600_000n * 10n ** 6n,
    [`${VAULT} convertToAssets(uint256)`]: 1_250_000n * 10n ** 30n,
  }
  expect(judge(alike)).toBeNull()
})

it('counts the virtual shares and the one asset that a vault begins with', () => {
  // Three whole shares of no decimals for four base units: five for four is what a share is worth.
  const none: Deployment = { ...pinned, assets: pinned.assets.map((asset) => ({ ...asset, decimals: 0 })) }
  const script = {
    [`${LOAN} decimals()`]: 0n,
    [`${COLLATERAL} decimals()`]: 0n,
    [`${VAULT} decimals()`]: 0n,
    [`${VAULT} totalSupply()`]: 3n,
    [`${VAULT} totalAssets()`]: 4n,
    [`${VAULT} convertToAssets(uint256)`]: (10n ** 36n * 5n) / 4n,
    [`${FUND} appraise(address,uint256,address)`]: 60_000n * 10n ** 6n,
  }
  expect(judge(script, none)).toBeNull()
  expect(judge({ ...script, [`${VAULT} convertToAssets(uint256)`]: (10n ** 36n * 4n) / 3n }, none)).toContain(
    'shares of vault',
  )
})
