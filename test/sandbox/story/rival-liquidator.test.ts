import { type Address, decodeFunctionData, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { expect, it } from 'vitest'
import type { Call } from '../../../sandbox/chain/transactions.ts'
import { lendingMarketAbi } from '../../../sandbox/contracts/abis.ts'
import type { Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { lower } from '../../../sandbox/indexer/logs.ts'
import { startRivalLiquidator } from '../../../sandbox/story/rival-liquidator.ts'
import { baseSnapshot, claim, MARKET, VAULT } from '../service/fixture.ts'

const REPAY = '60000000'
const BORROWERS = Array.from({ length: 20 }, () => generatePrivateKey())
const addressOf = (key: Hex | undefined) => lower(privateKeyToAddress(key ?? '0x'))
const [recovery] = baseSnapshot.recoveries
const underWater = (borrowerAddress: Address, repayAssets = REPAY) =>
  recovery === undefined ? [] : [{ ...recovery, borrowerAddress, executable: true, repayAssets }]
const BORROWER = addressOf(BORROWERS[0])
const under = underWater(BORROWER)

/** Start a rival that goes for a share, and show it snapshots. */
function rival(share: number, isPaused = false) {
  const rivalLiquidator = generatePrivateKey()
  const sent: Call[] = []
  let show: (snapshot: Snapshot) => void = () => {}
  startRivalLiquidator({
    canonical: {
      onSnapshot: (listener) => {
        show = (snapshot) => listener(snapshot, [])
        return () => {}
      },
    },
    keys: { rivalLiquidator, borrowers: BORROWERS },
    transactions: {
      send: async (calls) => {
        sent.push(...calls)
        return []
      },
    },
    seed: 1,
    share,
    isPaused: () => isPaused,
    onTrouble: (cause) => {
      throw cause
    },
  })
  return {
    address: lower(privateKeyToAddress(rivalLiquidator)),
    at: (timestampS: number, changes: Partial<Snapshot>) =>
      show({
        ...baseSnapshot,
        claims: [],
        recoveries: [],
        ...changes,
        block: { ...baseSnapshot.block, timestampS },
      }),
    taken: () =>
      sent.splice(0).map(({ to, data }) => ({ to, ...decodeFunctionData({ abi: lendingMarketAbi, data }) })),
  }
}

it('goes for what can be liquidated once, and again when it is still there later', () => {
  const { at, taken, address } = rival(1)
  at(100, { recoveries: under })
  at(101, { recoveries: under })
  const args = [VAULT, BORROWER, BigInt(REPAY), 1n, address, 110n]
  expect(taken()).toMatchObject([
    {
      to: MARKET,
      functionName: 'liquidate',
      args: args.map((arg) => (typeof arg === 'string' ? expect.stringMatching(new RegExp(arg, 'i')) : arg)),
    },
  ])
  at(111, { recoveries: under })
  expect(taken()).toHaveLength(1)
})

it('decides once each time that a borrower goes under water, whatever interest adds meanwhile', () => {
  const { at, taken } = rival(0.3)
  const goes = BORROWERS.map((key) => {
    const looks = Array.from({ length: 30 }, (_, second) => {
      at(100 + 20 * second, { recoveries: underWater(addressOf(key), String(60_000_000 + second)) })
      return taken().length
    })
    return [...new Set(looks)]
  })
  expect(goes.filter((ways) => ways.length > 1)).toEqual([])
  const share = goes.filter(([first]) => first === 1).length / BORROWERS.length
  expect(share).toBeGreaterThan(0)
  expect(share).toBeLessThan(0.6)
})

it('decides anew the next time', () => {
  const { at, taken } = rival(0.5)
  const ways = Array.from({ length: 20 }, (_, time) => {
    at(100 + 40 * time, { recoveries: under })
    at(120 + 40 * time, { recoveries: [] })
    return taken().length
  })
  expect(new Set(ways)).toEqual(new Set([0, 1]))
})

it('leaves alone who is no borrower of the story', () => {
  const { at, taken } = rival(1)
  at(100, { recoveries: underWater(lower(privateKeyToAddress(generatePrivateKey()))) })
  expect(taken()).toEqual([])
})

it('leaves alone what is not its share, what cannot be executed and dust, and all of it while the weather rests', () => {
  const nothing = rival(0)
  nothing.at(100, { recoveries: under })
  const all = rival(1)
  all.at(100, { recoveries: under.map((row) => ({ ...row, executable: false })) })
  all.at(100, { recoveries: under.map((row) => ({ ...row, repayAssets: '49999999' })) })
  const resting = rival(1, true)
  resting.at(100, { recoveries: under })
  expect([nothing, all, resting].flatMap(({ taken }) => taken())).toEqual([])
})

it('settles its own claims as soon as they can be', () => {
  const { at, taken, address } = rival(1)
  const own = claim({ liquidator: address, settleableAtS: 105, settled: false })
  at(104, { claims: [own] })
  at(105, { claims: [own, claim({ settleableAtS: 105, settled: false, claimId: '99' })] })
  expect(taken()).toMatchObject([{ functionName: 'settleLiquidationClaim', args: [BigInt(own.claimId)] }])
})
