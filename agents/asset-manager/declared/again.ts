import { plural } from '../../../src/readable.js'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import type { Ended, Moment, Stop } from '../../agent.ts'
import { changesOf, doneAbout } from './difference.ts'
import type { SettingsStep } from './settings-step.ts'

/** What the service keeps and no chain says. */
const RECORDS: readonly Again['workflowType'][] = [
  'role.vault_owner.vaultManagementSettingsSave',
  'role.vault_owner.vaultOwnerSettingsSave',
]
/** A service shows within seconds what it saved; later than this, a person looks. */
const SHOWN_WITHIN_MS = 300_000
const DAY_MS = 86_400_000

/** What of a step says whether it was made before; of a fund's channel as well. */
type Again = Pick<SettingsStep, 'direction' | 'input' | 'from'> & Pick<Proposal, 'workflowType'>

/**
 * Why a step is not made again, after what was done about its setting within a day; null where it may be. Pure. What was
 * quarantined is for a person, the very same from the very same figures also later, and a record that the service says it has
 * is not saved a second time that day.
 */
export function whyNotAgain(subject: string, step: Again, seen: Moment): Stop | null {
  const known = doneAbout(seen, subject)
  const done = known.filter(({ endedAtMs }) => endedAtMs > seen.nowMs - DAY_MS)
  const [last] = known
  if (last?.state === 'quarantined' && (done.includes(last) || isSame(last, step))) {
    return {
      check: 'quarantined_before',
      message: `Workflow ${last.workflowId} was quarantined: whether it had its effect is not known. Nothing follows it by itself.`,
      alarm: { fix: `see what it left with rolekeeper explain ${last.workflowId}; set it by hand then` },
    }
  }
  if (RECORDS.includes(step.workflowType)) {
    const saved = done.find(({ input }) => changesOf(input, step.input).length === 0)
    if (saved === undefined) return null
    const isLate = seen.nowMs - saved.endedAtMs >= SHOWN_WITHIN_MS
    return {
      check: 'saved_not_shown',
      message: `Workflow ${saved.workflowId} ended ${saved.state}; the service shows another record. It is not saved twice.`,
      ...(isLate ? { alarm: { fix: SAVED_FIX } } : {}),
    }
  }
  const refused = seen.recent.find(
    (one) => one.subject === subject && one.check === 'fee_raised_too_far' && isSame(one, step),
  )
  if (refused !== undefined) {
    return {
      check: 'fee_raised_too_far',
      message: `The guard refused it as workflow ${refused.workflowId}: the fee would rise further than the policy allows at once. Nobody is asked again.`,
      alarm: {
        fix: 'declare the fee in steps, each no further above what is there than guard.sanity.ownership allows',
      },
    }
  }
  // What is looser is bounded by the person who is asked each time.
  const unasked = done.filter(({ kind }) => kind !== 'loosen')
  if (step.direction === 'looser' || unasked.length < REPAIRS_A_DAY_MAX) return null
  return {
    check: 'set_back_again',
    message: `It was set ${plural(unasked.length, 'time')} within a day, and differs again: somebody sets it back.`,
    alarm: { fix: SET_BACK_FIX },
  }
}

/** Whether what ended was the very step, from the very figures. Pure. */
const isSame = ({ occurrence, input }: Ended, step: Again): boolean =>
  occurrence.endsWith(`,${step.from}`) && changesOf(input, step.input).length === 0

/** What is new and what is stricter of one setting are two; a third is a repair, and whoever undoes it undoes the next. */
const REPAIRS_A_DAY_MAX = 3
const SET_BACK_FIX =
  'find out who sets it back: another key that owns the vault, curates the channel or manages the fund, or another keeper with another declaration; take its right away, or declare what is there. Set it by hand meanwhile: rolekeeper submit'

const SAVED_FIX =
  'ask the service whether it has the record; it may write it otherwise than it was sent: declare it as the service shows it'
