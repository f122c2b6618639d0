import { type Abi, type Address, encodeFunctionData } from 'viem'
import type { IntentDraft } from '../../sandbox/service/workflows/intents.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { LOAN } from './fixtures.ts'

/** One workflow as its role asks for it, and the intents of an honest service. */
export type Kind = {
  readonly name: string
  readonly proposal: Proposal
  readonly drafts: readonly IntentDraft[]
}

/** What an honest service expects afterwards: an entity, and what each of these fields is. */
export type Expected = readonly [
  entityType: string,
  entityId: string,
  ...fields: readonly (readonly [string, unknown])[],
]

/** An address that is easy to tell from others. */
export const address = (byte: string): Address => `0x${byte.repeat(20)}`

/** One call of an honest service. */
export const call = (
  target: Address,
  abi: Abi,
  functionName: string,
  args: readonly unknown[],
): IntentDraft => ({
  target,
  calldata: encodeFunctionData({ abi, functionName, args }),
  label: functionName,
})

/** Everything counts for what it is worth at a dollar and six decimals. */
export const kind = (
  name: string,
  workflowType: Proposal['workflowType'],
  input: Proposal['input'],
  counted: { readonly out?: string; readonly moves?: string },
  drafts: readonly IntentDraft[],
): Kind => {
  const out = BigInt(counted.out ?? 0)
  const usdMicros = out + BigInt(counted.moves ?? 0)
  return {
    name,
    drafts,
    proposal: {
      workflowType,
      kind: name,
      subject: name,
      occurrence: '1',
      input,
      exposure: { token: out === 0n ? null : LOAN, assets: out, usdMicros },
      summary: name,
      reason: { priceWad: '60000000000000000000000' },
    },
  }
}
