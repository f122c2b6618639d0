/** One thing that a role owes by what was seen: now, or at a time to come. */
export type Due = {
  /** What kind of thing, for people: `liquidatable debt`, `nav report`, `refund`, … */
  readonly what: string
  readonly subject: string
  /** When it became due, or will be, Unix milliseconds; null where it was only seen to be so. */
  readonly sinceMs: number | null
  /** When it is lost, Unix milliseconds. */
  readonly untilMs?: number
  /** Done within so long, it is not late; above 0. */
  readonly graceMs: number
  /** When the last of its kind was made, where it is one that is made again and again, Unix milliseconds. */
  readonly lastAtMs?: number
  /** For people, with its unit. */
  readonly amount?: string
  readonly usdMicros?: bigint
  /** The rule that leaves it alone, by its stable name; absent where it was proposed just now. */
  readonly check?: string
  /** The policy itself wants it left alone: it is said, and never late. */
  readonly chosen?: true
  readonly message: string
}

/** How a rolling budget of the strategy's own stands; texts for people, with their units. */
export type OwnBudget = {
  readonly name: string
  /** What leaves alone what does not fit into it any more. */
  readonly check: string
  /** Used of it; 1 is all. */
  readonly part: number
  readonly used: string
  readonly limit: string
  readonly left: string
  /** When the first of what counts in it leaves, Unix milliseconds; null where nothing counts. */
  readonly freesAtMs: number | null
  /** Where its limit is set. */
  readonly setting: string
}

/** What there is to say why something is not done, by workflows of whatever shape. */
type DueFacts<One> = {
  readonly inFlight: readonly (One & { readonly workflowId: string; readonly held?: true })[]
  /** Newest first. */
  readonly recent: readonly (One & {
    readonly state: string
    readonly check: string | null
    readonly message?: string
  })[]
  readonly passedOver: readonly {
    readonly subject: string
    readonly check: string
    readonly message: string
  }[]
}

/** Ends without an effect: what was to be done is due still. */
const UNDONE: ReadonlySet<string> = new Set(['refused', 'expired', 'reverted', 'superseded', 'cancelled'])

/**
 * Say what becomes of a thing that is due: the workflow that is about it, else the rule that left it alone, else how the last
 * try of it ended; `otherwise` where it was proposed just now, or nothing is known. Pure.
 * @param isAbout tells whether a workflow, or one that ended, is about it.
 * @param subjects it goes by in decisions: of its proposals, and of what is passed over.
 */
export function whyDue<One>(
  { inFlight, recent, passedOver }: DueFacts<One>,
  isAbout: (one: One) => boolean,
  subjects: readonly string[],
  otherwise: string,
): Pick<Due, 'check' | 'message' | 'chosen'> {
  const open = inFlight.find(isAbout)
  if (open?.held === true) {
    const message = `Workflow ${open.workflowId} waits for a person. Fix: rolekeeper approve ${open.workflowId}.`
    return { check: 'held', message }
  }
  if (open !== undefined)
    return { check: 'under_way', message: `Workflow ${open.workflowId} is about it and has not ended.` }
  const last = recent.find(isAbout)
  const undone = last !== undefined && UNDONE.has(last.state) ? last : null
  const left = passedOver.find(({ subject }) => subjects.includes(subject))
  if (left?.check === 'already_done' && last?.state === 'shadowed')
    return { check: left.check, message: 'It was done in shadow, where nothing is sent.', chosen: true }
  // Between two tries, what ended the last one says more than that the next one waits.
  if (left !== undefined && (undone === null || left.check !== 'backing_off'))
    return { check: left.check, message: left.message }
  return undone === null
    ? { message: otherwise }
    : {
        check: undone.check ?? undone.state,
        message: `It is tried again after a pause; the last try was ${undone.state}${undone.message === undefined ? '.' : `: ${undone.message}`}`,
      }
}
