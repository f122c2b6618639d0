import type { Address } from 'viem'
import { afterEach, expect, it } from 'vitest'
import { checkFinal } from '../../src/guard/checks/check-final.ts'
import { loggedChanges } from '../../src/guard/checks/effects.ts'
import { conclude } from '../../src/pipeline/conclude.ts'
import type { TokenChange } from '../../src/workflow/slot.ts'
import { asked, createShapes, encodeCall, rulesetFor, type Shapes } from '../guard/policy/shapes-scene.ts'
import { FEES } from '../guard/scene.ts'
import { attemptOf, FEE_POLICY, slotOf, workflowOf } from '../support/workflows.ts'

const REPAY = 5_000_000_001n
/** 5,000 at 2,500 and 5 % more, but for a hundredth. */
const MIN_COLLATERAL = (21n * 10n ** 17n * 99n) / 100n

let shapes: Shapes | undefined
afterEach(async () => {
  await shapes?.stop()
  shapes = undefined
})

/** Clear and carry out a liquidation whose tokens are of a kind: what was cleared, and why its signer is SAFE then. */
async function liquidated(token: string, taken = (logged: readonly TokenChange[]) => logged) {
  shapes = await createShapes(token)
  const { addresses, borrower, client, liquidator, nodes } = shapes
  const { loan, collateral, pool } = addresses
  const ruleset = rulesetFor(shapes, 'pooled')
  const calls = [
    [loan, encodeCall('approve', [pool, REPAY])],
    [pool, encodeCall('liquidationCall', [collateral, loan, borrower, REPAY, false])],
  ] as const
  const request = { repay: REPAY, minCollateral: MIN_COLLATERAL }
  const options = await asked(shapes, ruleset, calls, request)
  const checked = await checkFinal(options, { nodes })
  if (!checked.ok) throw new TypeError(checked.message)
  const { clearance } = checked
  const slots = []
  for (const [index, { payload, predicted }] of clearance.payloads.entries()) {
    const { to, data, gasLimit: gas } = payload
    const hash = await client.sendTransaction({ account: liquidator, chain: null, to, data, gas, ...fees() })
    const receipt = await client.waitForTransactionReceipt({ hash })
    const { blockNumber, blockHash, status, gasUsed, effectiveGasPrice: effectiveGasPriceWei } = receipt
    const tokens = taken(loggedChanges(receipt.logs, liquidator))
    const inclusion = { hash, blockNumber, blockHash, status, gasUsed, effectiveGasPriceWei, tokens }
    const attempts = [attemptOf({ state: 'sent', raw: '0x01', hash })]
    slots.push(
      slotOf({
        index,
        nonce: index,
        signer: liquidator,
        payload,
        predicted,
        attempts,
        state: 'final',
        inclusion: { ...inclusion, purpose: 'payload' },
      }),
    )
  }
  const safe: string[] = []
  await conclude(workflowOf('in_flight', { signer: liquidator, clearance, slots }), {
    nowMs: () => 5_000,
    clock: { sleep: () => new Promise(() => {}) },
    baseFeePerGasWei: () => 1n,
    fees: FEE_POLICY,
    nodes,
    stands: () => true,
    journal: {
      byNonce: async () => null,
      claim: async () => 'lost',
      nextNonce: async () => 0,
      write: async (each) => each,
    },
    alarm: () => undefined,
    safe: (_signer, { check }) => safe.push(check),
    deployment: { assets: [] },
  })
  const changeOf = (of: Address) => clearance.predictedTokens.find((change) => change.token === of)?.assets
  return { safe, left: changeOf(loan), came: changeOf(collateral) }
}
const fees = () => ({
  maxFeePerGas: FEES.maxFeePerGasWei,
  maxPriorityFeePerGas: FEES.maxPriorityFeePerGasWei,
})

/** What the pool gives for it, 5 % more than it is worth. */
const SEIZED = (REPAY * 105n * 10n ** 12n) / (100n * 2_500n)

it.each([
  ['Token', -REPAY, SEIZED],
  ['SkimmingToken', -REPAY, (SEIZED * 99n) / 100n],
  ['SilentToken', -REPAY, SEIZED],
  // Of the shares that it keeps, a part of one is rounded away.
  ['RebasingToken', -REPAY + 1n, SEIZED - 1n],
])(
  'a %s is cleared by its balances, and what it did is held against what it said then',
  async (token, left, came) => {
    const done = await liquidated(token)
    expect(done).toMatchObject({ left, came, safe: [] })
  },
)

it.each(['Token', 'SkimmingToken', 'RebasingToken'])(
  'a signer is SAFE where one base unit more of a %s left by its logs than was simulated',
  async (token) => {
    const more = ({ assets, ...of }: TokenChange) => ({ ...of, assets: assets < 0n ? assets - 1n : assets })
    expect(await liquidated(token, (logged) => logged.map(more))).toMatchObject({ safe: ['effects_differ'] })
  },
)
