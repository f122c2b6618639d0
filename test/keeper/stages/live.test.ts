import { afterEach, beforeEach, expect, it } from 'vitest'
import { joinNodes } from '../../../src/chain/join-nodes.ts'
import type { Nodes } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createFollowingStages, createLiveStages } from '../../../src/keeper/stages/live.ts'
import { type ChainView, watchChain } from '../../../src/pipeline/transactions/chain-view.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import {
  approve,
  freeze,
  intent,
  LOAN,
  liquidate,
  liquidation,
  liquidationAnswer,
  liquidationArgs,
  MARKET,
  NOW_MS,
  REPAY,
  ruleset,
  VAULT,
} from '../../guard/fixtures.ts'
import { DEPLOY_RULE, rulesetOf } from '../../guard/rules.ts'
import { newDirectory } from '../../support/directory.ts'
import { createModelChain } from '../../support/model-chain.ts'
import { attemptOf, FEE_POLICY, proposalOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const GWEI = 1_000_000_000n
const gone = async () => Promise.reject(new RolekeeperError('node.unreachable', 'gone', { retry: 'later' }))
const never = async () => Promise.reject(new TypeError('not asked'))

let journal: Journal
let chain: ChainView
let nodes: Nodes
beforeEach(async () => {
  journal = openSqliteJournal(newDirectory())
  const model = createModelChain()
  model.mine(
    Array.from({ length: 7 }, (_, nonce) => ({ from: SIGNER, nonce })),
    [],
    [],
    [],
    [],
    [],
  )
  const endpoint = { name: 'gone', alive: () => false, read: gone, once: gone, checkChain: gone }
  nodes = joinNodes({
    chainId: CHAIN,
    readers: [{ ...endpoint, close: async () => {} }],
    senders: [],
    agree: 1,
    finality: 'finalized',
    pollMs: 1_000,
    clock: systemClock,
  })
  chain = await watchChain({
    scope: '',
    nowMs: () => 1_000,
    clock: systemClock,
    journal,
    signers: [SIGNER],
    safe: () => {},
    onHead: () => {},
    onFailed: () => {},
    alarm: () => {},
    nodes: { ...model.nodes, chainId: CHAIN, send: async () => [] },
  })
})
afterEach(async () => {
  await chain.stop()
  await journal.close()
})

const joined = () => ({
  nowMs: () => 1_000,
  monotonicMs: () => 1_000,
  clock: { sleep: never },
  journal,
  nodes,
  chain,
  fees: FEE_POLICY,
  client: { prepareWorkflow: never, getWorkflow: never },
  session: { use: never },
  gas: { tipWei: () => null, noopGas: () => 21_000n, dataFeeWei: () => 0n, dataFees: () => undefined },
  signer: { address: SIGNER, keyId: 'none', signDigest: never },
  signers: { safe: () => {}, reasonsOf: () => [] },
  gate: () => ({ closed: false, paused: false }),
  alarm: () => {},
})

const NO_APPROVAL = {
  always: new Set<never>(),
  aboveAssets: new Map(),
  aboveUsdMicros: undefined,
  beyondBps: undefined,
  expiresAfterMs: 1,
  hash: '',
  approvers: {},
  quorum: 1,
}

/** A workflow whose one payload is sent at a nonce. */
async function send(nonce: number, maxFeePerGasWei: bigint, changes: Partial<Workflow>): Promise<Workflow> {
  const id = `w${nonce}`
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('no clearance')
  const whole = { clearance: { ...clearance, notAfterMs: 1_000_000_000 }, ...changes, id, opportunity: id }
  await journal.open(workflowOf('cleared', whole))
  const digest = `0x${String(nonce).padStart(64, '0')}` as const
  const fees = { maxFeePerGasWei, maxPriorityFeePerGasWei: maxFeePerGasWei / 2n }
  const attempt = attemptOf({ ...fees, digest, state: 'sent', raw: '0x01', hash: digest, sentAtBlock: 6n })
  const claimed = await journal.claim(
    workflowOf('in_flight', {
      ...whole,
      slots: [slotOf({ nonce, attempts: [attempt], ...(changes.signer && { signer: changes.signer }) })],
    }),
    null,
  )
  if (claimed === 'lost') throw new TypeError('lost')
  return claimed
}
const urgent = { proposal: proposalOf({ urgent: true }) }

it('offers for a report what the urgent payload of another role behind it at the same signer offers', async () => {
  const report = await send(7, 2n * GWEI, { role: 'nav-reporter' })
  const { carry } = createFollowingStages({
    confirmationMsMax: 120_000,
    deployment: { assets: [] },
    ...joined(),
    rulesetHash: 'rules',
    gasWeiMax: 10n ** 18n,
    recheck: never,
    urgentOf: (signer) => behind.filter((other) => other.signer === signer),
    prove: () => null,
    lookAgain: async () => ({ ok: true }),
    checkBudget: async () => ({ ok: true }),
    reserve: journal.write.bind(journal),
  })
  const behind: Workflow[] = []
  expect(await carry(report)).toMatchObject({ type: 'wait' })
  behind.push(await send(8, 20n * GWEI, urgent))
  expect(await carry(report)).toMatchObject({
    type: 'written',
    workflow: { slots: [{ attempts: [{}, { purpose: 'payload', maxFeePerGasWei: 20n * GWEI }] }] },
  })
})

it('clears nothing while the signer’s window is full, but what is urgent', async () => {
  for (const nonce of [7, 8]) await send(nonce, 2n * GWEI, {})
  const { clear } = createLiveStages({
    ...joined(),
    apart: [],
    window: 1,
    urgentOf: () => [],
    alone: (work) => work(),
    mail: { everyMs: 250, answers: async () => [] },
    standing: { now: async () => [], ahead: () => undefined, expect: () => undefined },
    ruleset: rulesetOf([DEPLOY_RULE], [{ workflowType: DEPLOY_RULE.workflowType }]),
    approval: NO_APPROVAL,
  })
  expect(await clear(workflowOf('attested'))).toEqual({ type: 'wait', ms: 2_000 })
  expect(await clear(workflowOf('attested', urgent))).toMatchObject({ type: 'moved' })
})

it('counts what the chain shows to stand, but not what a workflow in flight is to use up', async () => {
  const allowed = { token: LOAN, spender: VAULT, assets: 10n ** 15n }
  const noted: unknown[] = []
  const { clear } = createLiveStages({
    ...joined(),
    nowMs: () => NOW_MS,
    apart: [],
    window: 16,
    urgentOf: () => [],
    alone: (work) => work(),
    mail: { everyMs: 250, answers: async () => [] },
    approval: NO_APPROVAL,
    ruleset,
    standing: {
      now: async () => [allowed],
      ahead: () => undefined,
      expect: (allowances) => noted.push(...allowances),
    },
  })
  const call = liquidate({ ...liquidationArgs, recipient: SIGNER })
  const transactions = [intent(0, LOAN, approve(MARKET, REPAY)), intent(1, MARKET, call)]
  const proposal = { ...liquidation, input: { ...liquidation.input, recipientAddress: SIGNER } }
  const attested = workflowOf('attested', {
    proposal,
    prepared: freeze({ ...liquidationAnswer(), transactions }),
  })
  expect(await clear(attested)).toMatchObject({
    workflow: { state: 'refused', note: { check: 'limit_standing' } },
  })
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('no clearance')
  await send(7, 2n * GWEI, { clearance: { ...clearance, allowances: [allowed] } })
  // Past it: the nodes of this test are gone.
  await expect(clear(attested)).rejects.toMatchObject({ code: 'node.unreachable' })
  expect(noted).toEqual([allowed])
})

it('asks from then on for what a workflow allows that was claimed before this start, also once it has ended: for up to a minute it was missed', async () => {
  const allowed = { token: LOAN, spender: VAULT, assets: 10n ** 15n }
  const noted: unknown[] = []
  const { carry } = createLiveStages({
    ...joined(),
    apart: [],
    window: 16,
    urgentOf: () => [],
    alone: (work) => work(),
    mail: { everyMs: 250, answers: async () => [] },
    approval: NO_APPROVAL,
    ruleset,
    standing: {
      now: async () => [],
      ahead: () => undefined,
      expect: (allowances) => noted.push(...allowances),
    },
  })
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('no clearance')
  await carry(await send(7, 2n * GWEI, { clearance: { ...clearance, allowances: [allowed] } }))
  expect(noted).toEqual([allowed])
})

it('claims nothing that passes a limit together with what another key has claimed', async () => {
  const { claim } = createLiveStages({
    ...joined(),
    apart: [],
    window: 16,
    urgentOf: () => [],
    alone: (work) => work(),
    mail: { everyMs: 250, answers: async () => [] },
    approval: NO_APPROVAL,
    standing: { now: async () => [], ahead: () => undefined, expect: () => undefined },
    ruleset: { ...ruleset, hash: 'rules', sharing: [SIGNER, VAULT] },
  })
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('no clearance')
  const held = (byKey: readonly { signer: typeof VAULT; assets: bigint }[]) => ({
    ...clearance,
    holdings: [{ check: 'inventory_above_limit', of: 'held', token: LOAN, assetsMax: 100n, byKey }],
  })
  await journal.adoptNonce(CHAIN, VAULT, 7)
  await send(7, GWEI, { signer: VAULT, clearance: held([{ signer: VAULT, assets: 60n }]) })
  const asks = held([
    { signer: SIGNER, assets: 41n },
    { signer: VAULT, assets: 0n },
  ])
  expect(await claim(workflowOf('cleared', { clearance: asks }))).toMatchObject({
    workflow: { state: 'refused', note: { check: 'inventory_above_limit' } },
  })
})
