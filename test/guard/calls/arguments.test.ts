import { type Abi, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { expect, it } from 'vitest'
import { BORROWER, COLLATERAL, MARKET, STRANGER, VAULT } from '../fixtures.ts'
import { answerOf, DESK, kindOf } from '../kinds.ts'
import { judge, rulesetOf } from '../rules.ts'

const batch = kindOf('reallocate')
const bid = kindOf('rfq-place')
const replace = kindOf('rfq-replace-down')
const approve = 'function approve(address spender, uint256 amount) returns (bool)'
const lock = 'function lock(address spender, uint256 amount)'
const reallocate =
  'function reallocate((address market, uint256 assets)[] withdrawals, (address market, uint256 assets)[] supplies)'
const abi: Abi = parseAbi([approve, lock, reallocate])
const encode = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi, functionName, args })

const out = [{ token: '$asset.sUSD', assetsMax: '$input.bidAssets' }]
const ruleset = rulesetOf(
  [
    {
      workflowType: batch.proposal.workflowType,
      target: '$vault',
      function: reallocate,
      params: {
        'withdrawals[].market': { eq: '$input.withdrawals[].marketAddress' },
        'withdrawals[].assets': { max: '500000' },
        'supplies[].market': { in: [MARKET, BORROWER] },
        'supplies[].assets': { eq: '$input.supplies[].assets' },
      },
    },
    {
      workflowType: bid.proposal.workflowType,
      target: '$asset.sBTC',
      function: approve,
      params: { spender: { eq: '$contract.rfqDesk' }, amount: { eq: '$input.bidAssets' } },
    },
    {
      workflowType: bid.proposal.workflowType,
      target: '$contract.rfqDesk',
      function: 'function placeBid(uint256 rfqId, uint256 assets, uint64 expiresAt)',
      params: {
        rfqId: { eq: '$input.rfqId' },
        assets: { eq: '$input.bidAssets' },
        expiresAt: { eq: '$input.expiresTimestamp' },
      },
    },
    {
      workflowType: replace.proposal.workflowType,
      target: '$asset.sBTC',
      function: lock,
      params: { spender: { eq: '$contract.rfqDesk' }, amount: { eq: '$input.bidAssets' } },
    },
  ],
  [
    { workflowType: batch.proposal.workflowType, moves: [{ token: '$asset.sUSD', assets: '0' }] },
    { workflowType: bid.proposal.workflowType, out },
    { workflowType: replace.proposal.workflowType, out },
  ],
)
const said = (kind: typeof batch, target: Hex, calldata: Hex) => {
  const [, ...others] = kind.drafts
  const checked = judge(kind, ruleset, answerOf(kind, [{ target, calldata, label: 'it' }, ...others]))
  return checked.ok ? 'accepted' : checked.message
}
const moves = (withdrawn: bigint, first: Hex, supplied: bigint) =>
  encode('reallocate', [
    [{ market: MARKET, assets: withdrawn }],
    [
      { market: first, assets: 200_000n },
      { market: MARKET, assets: supplied },
    ],
  ])

it.each<readonly [Hex, string]>([
  [
    moves(500_001n, MARKET, 100_000n),
    'withdrawals[0].assets is 0.500001 sUSD; allowed is at most 500000 (0.5 sUSD).',
  ],
  [
    moves(300_000n, STRANGER, 100_000n),
    `supplies[0].market is ${STRANGER}; allowed is one of ${MARKET}, ${BORROWER}.`,
  ],
  [
    moves(300_000n, BORROWER, 100_001n),
    'supplies[1].assets is 0.100001 sUSD; allowed is exactly $input.supplies[].assets (0.1 sUSD).',
  ],
])('a refusal says which element is refused, what it is and what is allowed: %#', (calldata, text) => {
  expect(said(batch, VAULT, calldata)).toBe(`Rule rule-0: ${text}`)
})

it('an amount is of the token that is approved, and else of what the effects say', () => {
  const amount = [DESK, 250_000_000n]
  expect(said(bid, COLLATERAL, encode('approve', amount))).toBe(
    'Rule rule-1: amount is 2.5 sBTC; allowed is exactly $input.bidAssets (50 sBTC).',
  )
  expect(said(bid, COLLATERAL, encode('approve', [STRANGER, 1n]))).toBe(
    `Rule rule-1: spender is ${STRANGER}; allowed is exactly $contract.rfqDesk (${DESK}).`,
  )
  expect(said(replace, COLLATERAL, encode('lock', amount))).toBe(
    'Rule rule-3: amount is 250 sUSD; allowed is exactly $input.bidAssets (5,000 sUSD).',
  )
})
