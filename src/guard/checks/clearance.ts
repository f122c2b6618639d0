import type { SimulationResult } from '../../chain/nodes.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { TokenChange } from '../../workflow/slot.ts'
import type { Clearance } from '../../workflow/workflow.ts'
import type { ClearedCall } from '../calls/call.ts'
import type { Subject } from '../policy/references.ts'
import { asAddress } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'
import type { Judgement } from '../sanity/judgement.ts'
import { usesOf } from './affected.ts'
import { loggedChanges, sumChanges } from './effects.ts'

/** What was judged, and passed. */
type Passed = {
  readonly calls: readonly ClearedCall[]
  readonly subject: Subject
  readonly notAfterMs: number
  readonly judgement: Judgement
  readonly workflow: { readonly proposal: Proposal }
  readonly ruleset: Ruleset
  readonly nowMs: number
}

const BPS = 10_000n

/** Write down what is cleared: these bytes, under these rules, with these effects. Pure. */
export function clearanceOf(
  { block, bundle, timestampS }: SimulationResult,
  predictedTokens: readonly TokenChange[],
  dataFeesWei: readonly bigint[],
  passed: Passed,
): Clearance {
  const { calls, subject, notAfterMs, judgement, ruleset, nowMs } = passed
  const logged = bundle.flatMap(({ logs }) => loggedChanges(logs, subject.self))
  const unasked = unaskedOf(sumChanges(logged), passed)
  return {
    rulesetHash: ruleset.hash,
    blockNumber: block.number,
    blockHash: block.hash,
    atMs: nowMs,
    notAfterMs,
    payloads: calls.map((call, index) =>
      payloadOf(call, bundle[index], dataFeesWei[index] ?? 0n, unasked, passed),
    ),
    predictedTokens,
    allowances: calls.flatMap(({ approval }) => approval ?? []),
    uses: usesOf(
      calls,
      bundle.flatMap(({ logs }) => logs),
      subject,
    ),
    ...(judgement.gasWeiMax === undefined ? {} : { gasWeiMax: judgement.gasWeiMax(timestampS) }),
    ...(judgement.holdings === undefined ? {} : { holdings: judgement.holdings() }),
  }
}

/**
 * Name the tokens, lower case, that come in though no effect of the rules asks for them, as the fees of a vault do with whatever
 * anybody does there: how much depends on who is mined first, and nobody misses it.
 */
function unaskedOf(
  changes: readonly TokenChange[],
  { subject, ruleset, workflow }: Passed,
): ReadonlySet<string> {
  const asked = (ruleset.effects.get(workflow.proposal.workflowType)?.in ?? []).map(({ token }) =>
    asAddress(token.resolve(subject)),
  )
  const tokensIn = changes.flatMap(({ token, assets }) => (assets > 0n ? token.toLowerCase() : []))
  return new Set(tokensIn.filter((token) => !asked.some((each) => each === token)))
}

function payloadOf(
  call: ClearedCall,
  ran: SimulationResult['bundle'][number] | undefined,
  dataFeeWei: bigint,
  unasked: ReadonlySet<string>,
  { workflow, ruleset: { gasHeadroomBps, sanity }, subject }: Passed,
): Clearance['payloads'][number] {
  const gasUsed = ran?.gasUsed ?? 0n
  // Who is to pay in the same call must not know by its gas whether it is tried out.
  const isPaid = sanity.get(workflow.proposal.workflowType)?.loses !== undefined
  const wanted = isPaid ? call.rule.gasMax : (gasUsed * gasHeadroomBps) / BPS
  const gasLimit = wanted < call.rule.gasMax ? wanted : call.rule.gasMax
  const tokens = loggedChanges(ran?.logs ?? [], subject.self).filter(
    ({ token }) => !unasked.has(token.toLowerCase()),
  )
  return {
    payload: { to: call.to, data: call.data, valueWei: call.valueWei, gasLimit },
    predicted: { gasUsed, ...(dataFeeWei === 0n ? {} : { dataFeeWei }), tokens },
  }
}
