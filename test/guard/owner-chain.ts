import { type AbiFunction, encodeFunctionResult, type Hex, toFunctionSelector } from 'viem'
import type { Call } from '../../src/chain/nodes.ts'
import { CHANNEL_VIEWS } from '../../src/guard/sanity/channel/views.ts'
import { HOLDER_VIEWS, OWNERSHIP_VIEWS } from '../../src/guard/sanity/vault-views.ts'
import { LOAN, MARKET, SELF, STRANGER } from './fixtures.ts'

/** What it charges, basis points, and whom it pays. */
export const FEES = {
  managementFeeBps: 20,
  performanceFeeBps: 1_000,
  borrowerManagerFeeBps: 200,
  recipient: STRANGER,
  curatorRecipient: SELF,
}

/** What the chain says by view, whatever it is asked about. */
const CHAIN: Readonly<Record<string, unknown>> = {
  owner: SELF,
  pendingDefaultAdmin: [`0x${'00'.repeat(20)}`, 0],
  feeConfig: FEES,
  liquidityBufferBps: 500,
  exitTerms: { kind: 1, noticeSeconds: 3_600n, intervalSeconds: 0n, maturityTimestamp: 0n },
  minDepositAssets: 250_000n,
  maxDepositAssets: 0n,
  routing: [MARKET],
  hasRole: false,
  listing: {
    approved: true,
    allocationEnabled: false,
    relativeCapBps: 2_500,
    absoluteCapAssets: 5_000_000n,
  },
  asset: LOAN,
  isBlocked: false,
}
const VIEWS: readonly AbiFunction[] = [...OWNERSHIP_VIEWS, ...HOLDER_VIEWS, ...CHANNEL_VIEWS]

/** Answer reads of a vault that is ours and lends our token, and of a channel; `said` is otherwise there. */
export const answersOf = (calls: readonly Call[], said: object = {}): readonly (Hex | null)[] =>
  calls.map(({ data }) => answer(data, { ...CHAIN, ...said }))

function answer(data: Hex, said: Readonly<Record<string, unknown>>): Hex | null {
  const item = VIEWS.find((view) => toFunctionSelector(view) === data.slice(0, 10))
  const result = item === undefined ? undefined : said[item.name]
  return item === undefined || result === undefined
    ? null
    : encodeFunctionResult({ abi: [item], functionName: item.name, result: result as never })
}
