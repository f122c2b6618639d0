import { type Address, type Hex, serializeTransaction } from 'viem'
import type { Frame, Head, Nodes, SimulatedTransaction, SimulationResult } from '../../chain/nodes.ts'
import { type Checked, invariant, type Refusal, RolekeeperError, refuse } from '../../errors.ts'
import { native } from '../../readable.js'
import { dataFeeAtMostWei, type TokenChange } from '../../workflow/slot.ts'
import type { Clearance, FrozenAnswer, StandingAllowance } from '../../workflow/workflow.ts'
import type { ClearedCall } from '../calls/call.ts'
import { checkStanding } from '../limits/budget.ts'
import { checkReads } from '../policy/deployment.ts'
import type { Effects, Subject } from '../policy/references.ts'
import { askPins, type PinReads } from '../reads/pins.ts'
import { createReads, type Reads } from '../reads/views.ts'
import type { Ruleset } from '../ruleset.ts'
import type { Judgement } from '../sanity/judgement.ts'
import { askTokens, contractsOf, type TokenReads } from './bundle-reads.ts'
import { type BoundWorkflow, checkPrepared } from './check-prepared.ts'
import { clearanceOf } from './clearance.ts'
import { checkAllowances, checkChanges, checkLogs } from './effects.ts'
import { checkBlockLag, checkHeadAge } from './freshness.ts'
import { simulateAgreed } from './simulate-agreed.ts'

/** What the signer is doing already, and what it would offer for gas. */
export type SignerView = {
  readonly nextNonce: number
  /** Our own transactions in flight, in nonce order. */
  readonly pending: readonly SimulatedTransaction[]
  /** The block that `pending` is counted at, which it is simulated on; absent where nothing is pending: the newest. */
  readonly at?: Head
  readonly maxFeePerGasWei: bigint
  readonly maxPriorityFeePerGasWei: bigint
  /** Allowances left by workflows that are not this one; each counts as exposure. */
  readonly standing: readonly StandingAllowance[]
}

/** A workflow with its frozen answer, the rules, and the signer as it is now. */
export type FinalOptions = {
  readonly workflow: BoundWorkflow & { readonly prepared?: FrozenAnswer }
  readonly ruleset: Ruleset
  readonly signer: SignerView
  readonly nowMs: number
}

type FinalDeps = {
  readonly nodes: Pick<Nodes, 'chainId' | 'simulate'>
  /** What transactions pay for their unsigned bytes beside gas, wei, null where the chain does not say it; absent: nothing. */
  readonly dataFees?: ((unsigned: readonly Hex[]) => Promise<readonly (bigint | null)[]>) | undefined
}

/**
 * Clear the final bundle for signing, or refuse it: everything static again, then one call a node for the
 * bundle on top of our own pending transactions, framed by our own reads, and for the code of every contract involved.
 * Throws RolekeeperError `node.*` when too few nodes answer.
 */
export async function checkFinal(
  options: FinalOptions,
  { nodes, dataFees: readDataFees }: FinalDeps,
): Promise<Checked<{ readonly clearance: Clearance }>> {
  const bundle = checkWithoutChain(options, nodes.chainId)
  if (!bundle.ok) return bundle
  const asked = askChain(options, bundle)
  if (!asked.ok) return asked
  const { pins, before, after } = asked
  const frame = frameFor(options, bundle, asked)
  const [simulated, dataFees] = await Promise.all([
    simulate(nodes, options, frame),
    readDataFees?.(frame.bundle.map((each) => unsignedOf(each, nodes.chainId))) ?? [],
  ])
  if (!simulated.ok) return simulated
  const { result } = simulated
  before.fill(result.before)
  after.fill(result.after)
  const dataFeesWei = dataFees.flatMap((wei) => wei ?? [])
  if (dataFeesWei.length < dataFees.length) {
    return refuse('read_failed', 'What the chain charges for our bytes cannot be read, so nothing is signed.')
  }
  const changes = asked.tokens.changes()
  if (changes === null) {
    return refuse('read_failed', 'A balance of ours cannot be read, so nothing is signed.')
  }
  const refusal =
    pins.check(result) ??
    checkBlock(result, bundle.frozen, options) ??
    checkShown(result, { changes, dataFeesWei }, bundle, asked, options)
  return (
    refusal ??
    withinGas(clearanceOf(result, changes, dataFeesWei, { ...bundle, ...asked, ...options }), options)
  )
}

/** What clearing a bundle would ask of the chain; null where it is refused unasked. Pure. */
export function askedBy(options: FinalOptions, chainId: number): Frame | null {
  const bundle = checkWithoutChain(options, chainId)
  const asked = bundle.ok ? askChain(options, bundle) : bundle
  return bundle.ok && asked.ok ? frameFor(options, bundle, asked) : null
}

/** What is certain before the chain is asked. */
type Bundle = {
  readonly frozen: FrozenAnswer
  readonly calls: readonly ClearedCall[]
  readonly subject: Subject
  readonly notAfterMs: number
}

/** Judge again what needs no node: the answer, that all is signed that must be, and what could be taken already. */
function checkWithoutChain(options: FinalOptions, chainId: number): Checked<Bundle> {
  const { workflow, ruleset, signer, nowMs } = options
  const { prepared: frozen } = workflow
  if (frozen === undefined) return refuse('not_prepared', 'The workflow has no answer of the service.')
  if (chainId !== workflow.chainId) {
    return refuse(
      'chain_mismatch',
      `The workflow is for chain ${workflow.chainId}; our nodes are on ${chainId}.`,
    )
  }
  const prepared = checkPrepared({ workflow, frozen, ruleset, nowMs })
  if (!prepared.ok) return prepared
  const unsigned = prepared.calls.find(
    ({ digest }) => digest !== null && workflow.attestation?.signature === undefined,
  )
  if (unsigned !== undefined) {
    return refuse('not_signed', `The call of rule ${unsigned.rule.id} lacks our signature.`)
  }
  const approvals = prepared.calls.flatMap(({ approval }) => approval ?? [])
  return (
    checkStanding(workflow.proposal.exposure, signer.standing, approvals, ruleset) ?? {
      ...prepared,
      frozen,
    }
  )
}

/** What is asked of the chain: by our own judgement of the workflow's type, and around every bundle. */
type ChainQuestions = {
  readonly effects: Effects
  readonly judgement: Judgement
  readonly tokens: TokenReads
  /** Of the contracts that all of it relies on. */
  readonly pins: PinReads
  /** Reads of the state that the bundle meets, and of the one that it leaves. */
  readonly before: Reads
  readonly after: Reads
}

function askChain({ workflow, ruleset }: FinalOptions, { calls, subject }: Bundle): Checked<ChainQuestions> {
  const { proposal } = workflow
  const effects = ruleset.effects.get(proposal.workflowType)
  const sanity = ruleset.sanity.get(proposal.workflowType)
  invariant(effects !== undefined && sanity !== undefined, `the rules judge ${proposal.workflowType}`)
  const [before, after] = [createReads(), createReads()]
  const judgement = sanity.judge({ subject, proposal, calls, before, after })
  const judgedBy = [...before.calls, ...after.calls]
  const unpinned = checkReads(judgedBy, subject.deployment)
  if (unpinned !== null) return unpinned
  const tokens = askTokens(effects, subject, calls, { before, after })
  const pins = askPins(contractsOf(calls, effects, subject, judgedBy), before)
  return { ok: true, effects, judgement, tokens, pins, before, after }
}

/** Judge what the simulation showed: that it is worth doing, that it runs, and that it moves nothing but what it may. */
function checkShown(
  result: SimulationResult,
  {
    changes,
    dataFeesWei,
  }: { readonly changes: readonly TokenChange[]; readonly dataFeesWei: readonly bigint[] },
  { calls, subject }: Bundle,
  { judgement, tokens, effects }: ChainQuestions,
  { signer }: FinalOptions,
): Refusal | null {
  const allowances = tokens.allowances()
  const logs = result.bundle.flatMap((item) => item.logs)
  const bytesWei = dataFeesWei.reduce((sum, wei) => sum + wei, 0n)
  const gasWei = result.bundle.reduce((sum, { gasUsed }) => sum + gasUsed * signer.maxFeePerGasWei, bytesWei)
  const changeOf = (token: Address) => changes.find((change) => change.token === token)?.assets ?? 0n
  return (
    judgement.checkState(result.timestampS) ??
    checkRan(result, calls) ??
    checkLogs(logs, subject, allowances) ??
    checkAllowances(allowances, subject) ??
    checkChanges(changes, effects, subject) ??
    judgement.checkOutcome({ timestampS: result.timestampS, gasWei, changeOf })
  )
}

/** The bundle at the signer's next nonces, and the reads around it. */
function frameFor(
  { workflow, signer }: FinalOptions,
  { calls }: Bundle,
  { pins, before, after }: ChainQuestions,
): Frame {
  const bundle = calls.map((call, index) => ({
    from: workflow.signer,
    to: call.to,
    data: call.data,
    valueWei: call.valueWei,
    gasLimit: call.rule.gasMax,
    nonce: signer.nextNonce + index,
    maxFeePerGasWei: signer.maxFeePerGasWei,
    maxPriorityFeePerGasWei: signer.maxPriorityFeePerGasWei,
  }))
  const { codeAt, slots } = pins
  return { before: before.calls, bundle, after: after.calls, codeAt, slots }
}

const unsignedOf = (
  { to, data, valueWei, gasLimit, nonce, ...fees }: SimulatedTransaction,
  chainId: number,
): Hex =>
  serializeTransaction({
    type: 'eip1559',
    chainId,
    nonce,
    to,
    data,
    value: valueWei,
    gas: gasLimit,
    maxFeePerGas: fees.maxFeePerGasWei,
    maxPriorityFeePerGas: fees.maxPriorityFeePerGasWei,
  })

async function simulate(
  nodes: FinalDeps['nodes'],
  { signer }: FinalOptions,
  frame: Frame,
): Promise<Checked<{ readonly result: SimulationResult }>> {
  const { pending, at } = signer
  try {
    return await simulateAgreed(nodes.simulate({ pending, ...frame, ...(at === undefined ? {} : { at }) }))
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.code !== 'node.simulation_rejected') throw error
    if (error.facts.reason === 'insufficient_funds') {
      return refuse(
        'insufficient_native',
        'The signer cannot pay for the gas of this bundle. Fix: send it native coin.',
      )
    }
    if (error.facts.reason === 'fee_below_base_fee') {
      return refuse(
        'fee_below_base_fee',
        `The fee offered, ${native(signer.maxFeePerGasWei)}, is below the next base fee.`,
      )
    }
    // A nonce that the chain has passed meanwhile: the caller looks again.
    throw error
  }
}

function checkBlock(
  { block }: SimulationResult,
  { answer }: FrozenAnswer,
  { ruleset: { freshness }, nowMs }: FinalOptions,
): Refusal | null {
  const snapshot = BigInt(answer.preflight.freshness.blockNumber ?? '0')
  return checkHeadAge(block.timestampS, freshness, nowMs) ?? checkBlockLag(block.number, snapshot, freshness)
}

function checkRan(result: SimulationResult, calls: readonly ClearedCall[]): Refusal | null {
  const index = calls.findIndex((_call, at) => result.bundle[at]?.status !== 'success')
  const failed = calls[index]
  if (failed === undefined) return null
  const selector = result.bundle[index]?.returnData.slice(0, 10) ?? '0x'
  return refuse(
    'simulation_reverted',
    `The call of rule ${failed.rule.id} reverts on our node with ${selector === '0x' ? 'no data' : selector}.`,
  )
}

function withinGas(
  clearance: Clearance,
  { ruleset, signer }: FinalOptions,
): Checked<{ readonly clearance: Clearance }> {
  const gas = clearance.payloads.reduce((sum, { payload }) => sum + payload.gasLimit, 0n)
  const valueWei = clearance.payloads.reduce((sum, { payload }) => sum + payload.valueWei, 0n)
  const bytesWei = clearance.payloads.reduce(
    (sum, { predicted }) => sum + dataFeeAtMostWei(predicted.dataFeeWei),
    0n,
  )
  const costWei = gas * signer.maxFeePerGasWei + valueWei + bytesWei
  const limit = ruleset.limits.perWorkflow.gasWeiMax
  if (costWei <= limit) return { ok: true, clearance }
  return refuse(
    'limit_workflow_gas',
    `Its gas and what it sends could cost ${native(costWei)}; the policy allows ${native(limit)} a workflow. Fix: wait for lower fees, or raise limits.perWorkflow.gasMax.`,
  )
}
