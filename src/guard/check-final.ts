import type { Address } from 'viem'
import type { Call, Nodes, SimulatedTransaction, SimulationResult } from '../chain/nodes.ts'
import { type Checked, invariant, type Refusal, RolekeeperError, refuse } from '../errors.ts'
import type { Clearance, FrozenAnswer, StandingAllowance } from '../workflow/workflow.ts'
import type { ClearedCall } from './calls.ts'
import { type BoundWorkflow, checkPrepared } from './check-prepared.ts'
import { checkAllowances, checkChanges, checkLogs, loggedChanges } from './effects.ts'
import { contractsOf, frame } from './frame.ts'
import { checkHeadAge } from './head-age.ts'
import type { Subject } from './policy/conditions.ts'
import { checkReads, type PinnedContract } from './policy/deployment.ts'
import type { Ruleset } from './ruleset.ts'
import { createReads } from './views.ts'

/** What the signer is doing already, and what it would offer for gas. */
export type SignerView = {
  readonly nextNonce: number
  /** Our own transactions in flight, in nonce order. */
  readonly pending: readonly SimulatedTransaction[]
  readonly maxFeePerGasWei: bigint
  readonly maxPriorityFeePerGasWei: bigint
  /** Allowances left by workflows that are not this one; each counts as exposure. */
  readonly standing: readonly StandingAllowance[]
}

export type FinalOptions = {
  readonly workflow: BoundWorkflow & { readonly prepared?: FrozenAnswer }
  readonly ruleset: Ruleset
  readonly signer: SignerView
  readonly nowMs: number
}

type FinalDeps = { readonly nodes: Pick<Nodes, 'chainId' | 'simulate' | 'codeHashes'> }

const BPS = 10_000n

/**
 * Clear the final bundle for signing, or refuse it: everything static again, then one wave of node calls for the code
 * of every contract involved and for the bundle on top of our own pending transactions, framed by our own reads.
 * Throws RolekeeperError `node.*` when no node answers.
 */
export async function checkFinal(
  options: FinalOptions,
  { nodes }: FinalDeps,
): Promise<Checked<{ readonly clearance: Clearance }>> {
  const { workflow, ruleset, signer, nowMs } = options
  const { prepared: frozen } = workflow
  if (frozen === undefined) return refuse('not_prepared', 'The workflow has no answer of the service.')
  if (nodes.chainId !== workflow.chainId) {
    return refuse(
      'chain_mismatch',
      `The workflow is for chain ${workflow.chainId}; our nodes are on ${nodes.chainId}.`,
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
  const exposed = checkStanding(options, prepared.calls)
  if (exposed !== null) return exposed
  const { calls, subject } = prepared

  const { proposal } = workflow
  const effects = ruleset.effects.get(proposal.workflowType)
  const sanity = ruleset.sanity.get(proposal.workflowType)
  invariant(effects !== undefined && sanity !== undefined, `the rules judge ${proposal.workflowType}`)
  const framing = frame(effects, subject, calls)
  const sane = { before: createReads(), after: createReads() }
  const judgement = sanity.judge({ subject, proposal, ...sane })
  const reads = [...sane.before.calls, ...sane.after.calls]
  const unpinned = checkReads(reads, subject.deployment)
  if (unpinned !== null) return unpinned
  const pins = contractsOf(calls, effects, subject, reads)
  const [hashes, simulated] = await Promise.all([
    nodes.codeHashes(pins.map(({ address }) => address)),
    simulate(nodes, options, calls, {
      before: [...framing.before.calls, ...sane.before.calls],
      after: [...framing.after.calls, ...sane.after.calls],
    }),
  ])
  if (!simulated.ok) return simulated
  const { result } = simulated
  for (const when of ['before', 'after'] as const) {
    const count = framing[when].calls.length
    framing[when].fill(result[when].slice(0, count))
    sane[when].fill(result[when].slice(count))
  }

  const gasWei = result.bundle.reduce((sum, { gasUsed }) => sum + gasUsed * signer.maxFeePerGasWei, 0n)
  const changes = framing.changes()
  if (changes === null)
    return refuse('read_failed', 'A balance of ours cannot be read; what is not known denies.')
  const allowances = framing.allowances()
  const logs = result.bundle.flatMap((item) => item.logs)
  const changeOf = (token: Address) => changes.find((change) => change.token === token)?.assets ?? 0n
  const refusal =
    checkPins(pins, hashes) ??
    checkBlock(result, frozen, ruleset, nowMs) ??
    judgement.checkState(result.timestampS) ??
    checkRan(result, calls) ??
    checkLogs(logs, subject, allowances) ??
    checkAllowances(allowances) ??
    checkChanges(changes, effects, subject) ??
    judgement.checkOutcome({ gasWei, changeOf })
  if (refusal !== null) return refusal
  return withinGas(
    {
      rulesetHash: ruleset.hash,
      blockNumber: result.block.number,
      blockHash: result.block.hash,
      atMs: nowMs,
      notAfterMs: prepared.notAfterMs,
      payloads: calls.map((call, index) => payloadOf(call, result.bundle[index], options, subject)),
      predictedTokens: changes,
      allowances: calls.flatMap(({ approval }) => (approval === null ? [] : [approval])),
    },
    options,
  )
}

/** Count what others could still take as part of this workflow's exposure; its own pair is approved anew. */
function checkStanding(
  { workflow, ruleset, signer }: FinalOptions,
  calls: readonly ClearedCall[],
): Refusal | null {
  const { exposure } = workflow.proposal
  // What moves nothing out adds no exposure: a settlement need not wait for a revocation.
  if (exposure.assets === 0n) return null
  let usdMicros = exposure.usdMicros
  for (const { token, spender, assets } of signer.standing) {
    const isReplaced = calls.some(({ approval }) => approval?.token === token && approval.spender === spender)
    if (isReplaced) continue
    if (token !== exposure.token?.toLowerCase()) {
      return refuse(
        'standing_unpriced',
        `${spender} may still take ${assets} base units of ${token}, whose worth is not known here.`,
      )
    }
    usdMicros += (assets * exposure.usdMicros) / exposure.assets
  }
  const limit = ruleset.limits.perHour.usdMicrosMax
  if (usdMicros <= limit) return null
  return refuse(
    'limit_standing',
    `With allowances that still stand, ${usdMicros} millionths of a dollar are exposed; the policy allows ${limit}.`,
  )
}

function checkPins(pins: readonly PinnedContract[], hashes: readonly (string | null)[]): Refusal | null {
  const index = pins.findIndex(({ codeHash }, at) => hashes[at] !== codeHash)
  const pin = pins[index]
  if (pin === undefined) return null
  return refuse(
    'code_changed',
    `The code at ${pin.address} hashes to ${hashes[index] ?? 'nothing'}; ${pin.codeHash} is pinned. Fix: find out what was deployed there before pinning it.`,
  )
}

async function simulate(
  nodes: FinalDeps['nodes'],
  { workflow, signer }: FinalOptions,
  calls: readonly ClearedCall[],
  reads: { readonly before: readonly Call[]; readonly after: readonly Call[] },
): Promise<Checked<{ readonly result: SimulationResult }>> {
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
  try {
    return { ok: true, result: await nodes.simulate({ pending: signer.pending, bundle, ...reads }) }
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
        `The fee offered, ${signer.maxFeePerGasWei} wei, is below the next base fee.`,
      )
    }
    // A nonce that the chain has passed meanwhile: the caller looks again.
    throw error
  }
}

function checkBlock(
  { block }: SimulationResult,
  { answer }: FrozenAnswer,
  { freshness }: Ruleset,
  nowMs: number,
): Refusal | null {
  const aged = checkHeadAge(block.timestampS, freshness, nowMs)
  if (aged !== null) return aged
  const lag = block.number - BigInt(answer.preflight.freshness.blockNumber ?? '0')
  if (lag > freshness.blockLagMax) {
    return refuse(
      'snapshot_behind',
      `The service's snapshot is ${lag} blocks behind our node; the policy allows ${freshness.blockLagMax}.`,
    )
  }
  if (-lag > freshness.blockLagMax) {
    return refuse(
      'node_behind',
      `Our node is ${-lag} blocks behind the service's snapshot; the policy allows ${freshness.blockLagMax}.`,
    )
  }
  return null
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

function payloadOf(
  call: ClearedCall,
  ran: SimulationResult['bundle'][number] | undefined,
  { ruleset }: FinalOptions,
  subject: Subject,
): Clearance['payloads'][number] {
  const gasUsed = ran?.gasUsed ?? 0n
  const wanted = (gasUsed * ruleset.gasHeadroomBps) / BPS
  const gasLimit = wanted < call.rule.gasMax ? wanted : call.rule.gasMax
  const tokens = loggedChanges(ran?.logs ?? [], subject.self)
  return {
    payload: { to: call.to, data: call.data, valueWei: call.valueWei, gasLimit },
    predicted: { gasUsed, tokens },
  }
}

function withinGas(
  clearance: Clearance,
  { ruleset, signer }: FinalOptions,
): Checked<{ readonly clearance: Clearance }> {
  const gas = clearance.payloads.reduce((sum, { payload }) => sum + payload.gasLimit, 0n)
  const costWei = gas * signer.maxFeePerGasWei
  const limit = ruleset.limits.perWorkflow.gasWeiMax
  if (costWei <= limit) return { ok: true, clearance }
  return refuse(
    'limit_workflow_gas',
    `Its gas could cost ${costWei} wei; the policy allows ${limit} a workflow. Fix: wait for lower fees, or raise limits.perWorkflow.gasWeiMax.`,
  )
}
