import { decodeFunctionData } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { expect, it } from 'vitest'
import type { Call } from '../../../sandbox/chain/transactions.ts'
import { lendingMarketAbi } from '../../../sandbox/contracts/abis.ts'
import type { Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { lower } from '../../../sandbox/indexer/logs.ts'
import { startRivalLiquidator } from '../../../sandbox/story/rival-liquidator.ts'
import { BORROWER, baseSnapshot, claim, MARKET, VAULT } from '../service/fixture.ts'

const REPAY = '60000000'
const [recovery] = baseSnapshot.recoveries
const under = recovery === undefined ? [] : [{ ...recovery, executable: true, repayAssets: REPAY }]

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
    keys: { rivalLiquidator },
    transactions: {
      send: async (calls) => {
        sent.push(...calls)
        return []
      },
    },
    ...{ seed: 1, share, isPaused: () => isPaused },
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
