import { type Address, encodeAbiParameters, type Hex, toFunctionSelector } from 'viem'
import { expect, it } from 'vitest'
import { readWorth, type WorthOptions } from '../../../src/guard/limits/valuation.ts'
import { COLLATERAL, deployment, LOAN, MARKET, OTHER_MARKET, SELF, STRANGER, VAULT } from '../fixtures.ts'

const DESK: Address = `0x${'d0'.repeat(20)}`
const pinned = {
  ...deployment,
  contracts: [{ name: 'desk', address: DESK, codeHash: `0x${'0d'.repeat(32)}` as const }],
}
const oracle = deployment.markets[0]?.oracle ?? LOAN
const HEAD = { number: 9n, hash: '0x09', parentHash: '0x08', timestampS: 1, baseFeePerGasWei: 1n } as const

/** 1,000 sUSD, 0.5 sBTC at 60,000, 200 sUSD in a vault, 0.1 sBTC in a claim, 40 sUSD in escrow: both markets have one pair. */
const TRUE: Readonly<Record<string, readonly bigint[] | null>> = {
  [`${LOAN} balanceOf(address)`]: [1_000_000_000n],
  [`${COLLATERAL} balanceOf(address)`]: [50_000_000n],
  [`${oracle} read()`]: [60_000n * 10n ** 18n, 1n, 1n, 1n],
  [`${VAULT} asset()`]: [BigInt(LOAN)],
  [`${VAULT} balanceOf(address)`]: [7n],
  [`${VAULT} convertToAssets(uint256)`]: [200_000_000n],
  // An array of one.
  [`${MARKET} openClaims(address)`]: [32n, 1n, 3n],
  [`${MARKET} claim(uint256)`]: [1n, 1n, 1n, 1n, 10_000_000n, 0n, 0n],
  [`${OTHER_MARKET} openClaims(address)`]: null,
  [`${DESK} commitments(address,address,address)`]: [40_000_000n, 9n],
}

/** How many reads went to the nodes together, each time. */
const asked: number[] = []
const read = (changes: typeof TRUE = {}, options: Partial<WorthOptions> = {}) => {
  const script = Object.entries({ ...TRUE, ...changes })
  asked.splice(0)
  return readWorth(
    {
      owners: [SELF],
      deployment: pinned,
      pricesUsdMicros: { sUSD: 500_000n },
      nativePriceUsdMicros: 3_000_000_000n,
      ...options,
    },
    {
      recent: async () => HEAD,
      balanceWei: async (_owner, at) => {
        expect(at).toEqual(HEAD)
        return 10n ** 17n
      },
      calls: async (calls, at) => {
        asked.push(calls.length)
        expect(at).toEqual(HEAD)
        return calls.map(({ to, data }): Hex | null => {
          const said = script.find(([name]) => {
            const [of, signature = ''] = name.split(' ')
            return of === to && data.startsWith(toFunctionSelector(signature))
          })?.[1]
          return said == null
            ? null
            : encodeAbiParameters(
                said.map(() => ({ type: 'uint256' })),
                said,
              )
        })
      },
    },
  )
}

const worth = async (changes?: typeof TRUE) => (await read(changes)).usdMicros

it('counts native coin, tokens, shares, claims and escrow, all at one block', async () => {
  // At 50 cents: 300 native; 500 sUSD; 15,000 of 0.5 sBTC; 100 in the vault; 3,000 in the claim; 20 in escrow.
  expect(await worth()).toBe(18_920_000_000n)
  const none = { [`${VAULT} asset()`]: null, [`${MARKET} openClaims(address)`]: null }
  expect(await worth({ ...none, [`${DESK} commitments(address,address,address)`]: null })).toBe(
    15_800_000_000n,
  )
})

it('counts escrow of what one market has for what another lends', async () => {
  const [first, other] = pinned.markets
  if (first === undefined || other === undefined) throw new TypeError('there are two markets')
  const { codeHash } = other
  const deployment = {
    ...pinned,
    assets: [
      ...pinned.assets,
      { address: DESK, codeHash, symbol: 'sEUR', decimals: 6 },
      { address: VAULT, codeHash, symbol: 'sETH', decimals: 18 },
    ],
    markets: [first, { ...other, loanAsset: DESK, collateralAsset: VAULT }],
  }
  const pricesUsdMicros = { sUSD: 1_000_000n, sEUR: 1_000_000n }
  const worthBy = async (escrow: readonly bigint[] | null) => {
    const none = { [`${VAULT} asset()`]: null, [`${MARKET} openClaims(address)`]: null }
    const balances = { [`${DESK} balanceOf(address)`]: [0n], [`${VAULT} balanceOf(address)`]: [0n] }
    const said = { ...none, ...balances, [`${DESK} commitments(address,address,address)`]: escrow }
    return (await read(said, { deployment, pricesUsdMicros })).usdMicros
  }
  // One for sBTC and one for sETH, in sUSD and in sEUR.
  expect((await worthBy([1_000_000n, 0n])) - (await worthBy(null))).toBe(4_000_000n)
})

it('adds up what several keys own, and says as of which block', async () => {
  expect(await read({}, { owners: [SELF, STRANGER] })).toEqual({ usdMicros: 37_840_000_000n, atMs: 1_000 })
})

it('counts no shares of itself that a vault keeps for who asked to redeem', async () => {
  const ofVault = (shares: bigint) => read({ [`${VAULT} balanceOf(address)`]: [shares] }, { owners: [VAULT] })
  expect(await ofVault(7n)).toEqual(await ofVault(0n))
  expect(await ofVault(7n)).not.toEqual(await read())
})

it('counts a vault of a token that is not ours to price as nothing, and asks no second time for nothing', async () => {
  const none = { [`${VAULT} asset()`]: null, [`${MARKET} openClaims(address)`]: null }
  const all = await worth(none)
  expect(asked).toHaveLength(1)
  // Neither does it matter then what our shares of it are, nor is anything asked about none.
  expect(await worth({ ...none, [`${VAULT} balanceOf(address)`]: null })).toBe(all)
  const noShares = { ...none, [`${VAULT} asset()`]: [BigInt(LOAN)], [`${VAULT} balanceOf(address)`]: [0n] }
  expect(await worth(noShares)).toBe(all)
  expect(asked).toHaveLength(1)
  expect(await worth({ ...none, [`${VAULT} asset()`]: [BigInt(DESK)] })).toBe(all)
  expect(asked).toHaveLength(2)
})

it('counts collateral at the policy’s own price where what it is lent against has none', async () => {
  const pricesUsdMicros = { sBTC: 50_000_000_000n }
  // 300 native; 0.5 sBTC of ours and 0.1 in a claim at 50,000; nothing else has a price.
  for (const changes of [{}, { [`${oracle} read()`]: null }])
    expect(await read(changes, { pricesUsdMicros })).toMatchObject({ usdMicros: 30_300_000_000n })
})

it('says nothing where a balance or a price is not said: half a worth would look like a loss', async () => {
  await expect(worth({ [`${LOAN} balanceOf(address)`]: null })).rejects.toMatchObject({
    code: 'worth.not_read',
  })
  const unread = [
    ...[`${oracle} read()`, `${VAULT} balanceOf(address)`, `${VAULT} convertToAssets(uint256)`],
    `${MARKET} claim(uint256)`,
  ]
  for (const each of unread)
    await expect(worth({ [each]: null })).rejects.toMatchObject({ code: 'worth.not_read' })
})
