import type { Address } from 'viem'
import { invariant } from '../../errors.ts'
import type { ShownChange } from '../../workflow/approval-view.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { subjectOf } from '../checks/check-request.ts'
import { figureText } from '../policy/figures.ts'
import { asAddress, asUint } from '../policy/values.ts'
import { createReads, type Reads } from '../reads/views.ts'
import type { Ruleset } from '../ruleset.ts'
import type { Compared } from '../sanity/judgement.ts'
import { nameAll, type Scene } from './approval-screen.ts'

/** Where no person asks, or nothing is set, there is nothing to compare. */
const NOTHING: readonly ShownChange[] = []
const UNREAD: readonly ShownChange[] = [
  { field: 'what is there now', from: null, to: 'not known: the chain does not say' },
]

/**
 * Compare what a person's order would set with what the chain says is there now, by our own reads: who submits it may say
 * anything of that. What an agent proposes says itself what it saw. Empty where the order sets nothing.
 * @param fill answers reads. Throws what it throws.
 */
export async function compare(
  { proposal, signer }: Pick<Workflow, 'proposal' | 'signer'>,
  ruleset: Ruleset,
  fill: (reads: Reads) => Promise<void>,
): Promise<readonly ShownChange[]> {
  const ask = ruleset.sanity.get(proposal.workflowType)?.compare
  if (ask === undefined || proposal.askedBy === undefined) return NOTHING
  const found = subjectOf(proposal, signer, ruleset)
  invariant(found.ok, `a ${proposal.workflowType} that is compared has passed its rules`)
  const subject = { ...found.subject, deadlineS: 0n }
  const before = createReads()
  const answer = ask({ subject, proposal, calls: [], before, after: createReads() })
  await fill(before)
  const compared = answer()
  return compared === null ? UNREAD : changesOf(compared, { subject, ruleset })
}

const changesOf = ({ fields, asset }: Compared, scene: Scene): readonly ShownChange[] =>
  fields.map(({ name, was, wanted }) => ({
    field: nameAll(name, scene),
    from: was === null ? null : valueText(name, was, asset, scene),
    to: valueText(name, wanted, asset, scene),
  }))

function valueText(name: string, value: string, asset: Address | undefined, scene: Scene): string {
  if (asAddress(value) !== undefined) return nameAll(value, scene)
  const figure = asUint(value)
  if (figure === undefined) return value
  const approved = name.endsWith('Assets') ? asset : undefined
  return figureText(figure, { path: name, reference: '', approved }, scene.subject)
}
