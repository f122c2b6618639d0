import { type Address, encodeAbiParameters, type Hex, toFunctionSelector } from 'viem'
import { expect, it } from 'vitest'
import { readWorth } from '../../src/guard/worth.ts'
import { COLLATERAL, deployment, LOAN, MARKET, OTHER_MARKET, SELF, STRANGER, VAULT } from './fixtures.ts'

const DESK: Address = `0x${'d0'.repeat(20)}`
const pinned = {
  ...deployment,
  contracts: [{ name: 'desk', address: DESK, codeHash: `0x${'0d'.repeat(32)}` as const }],
}
const oracle = deployment.markets[0]?.oracle ?? LOAN
const HEAD = { number: 9n, hash: '0x09', parentHash: '0x08', timestampS: 1, baseFeePerGasWei: 1n } as const

/** 1,000 sUSD, 0.5 sBTC at 60,000, 200 sUSD in a vault, 0.1 sBTC in a claim, 40 sUSD in escrow for either market. */
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
  [`${DESK} commitments(address,address,address)`]: [20_000_000n, 9n],
}

const read = (changes: typeof TRUE = {}, owners = [SELF]) => {
  const script = Object.entries({ ...TRUE, ...changes })
  return readWorth(
    {
      ...{ owners, deployment: pinned },
      ...{ pricesUsdMicros: { sUSD: 500_000n }, nativePriceUsdMicros: 3_000_000_000n },
    },
    {
      recent: async () => HEAD,
      balanceWei: async () => 10n ** 17n,
      calls: async (calls, at) => {
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

it('adds up what several keys own, and says as of which block', async () => {
  expect(await read({}, [SELF, STRANGER])).toEqual({ usdMicros: 37_840_000_000n, atMs: 1_000 })
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
