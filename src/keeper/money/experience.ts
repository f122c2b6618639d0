import type { Agent } from '../../../agents/agent.ts'
import { type Experience, type Recovered, withCases } from '../../../agents/protocol/experience.ts'
import { recoveriesOf } from '../../accounts/outcomes.ts'
import { recordCases } from '../../accounts/record-cases.ts'
import type { Clock } from '../../clock.ts'
import { type Refusal, RolekeeperError, refuse } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Accounts, CasesOf, ExpectedOfLot } from '../../journal/sqlite/accounts.ts'
import type { Log } from '../../ops/log.ts'
import { createCachedRead } from '../cached-read.ts'

type WorksFor = Agent['worksFor']

/** What became of what a role said, by its accounts. */
export type RoleExperience = {
  /** As it was recorded last, nothing before; and what became money again of what was bought for others. */
  readonly now: (recovered: readonly Recovered[]) => readonly Experience[]
  /** Record and read it again if that is due, and do not wait for it. */
  readonly begin: () => void
  /** Resolve once it is read, or could not be; at once where it was within five minutes. */
  readonly ready: () => Promise<void>
  /** Why nothing may begin that hangs on it: it was not read for five minutes, or never. Null where it was. */
  readonly unread: () => Refusal | null
}

const READ_EVERY_MS = 60_000
/** What is older says too little of what was lost since. */
const UNREAD_MS_MAX = 300_000

/** What is known by the records, as of what was forgotten last. */
type KnownNow = {
  readonly fromMs: number
  readonly experience: readonly Experience[]
  readonly lots: readonly ExpectedOfLot[]
}

/** Create the experience of one signer in a role. */
export function createExperience(
  of: CasesOf,
  deps: {
    readonly accounts: Pick<Accounts, 'cases' | 'forgottenUntilMs' | 'after' | 'undecided' | 'decide'>
    readonly journal: Pick<Journal, 'get'>
    readonly worksFor?: WorksFor
    readonly clock: Clock
    readonly log: Log
    readonly alarm: (error: RolekeeperError) => void
  },
): RoleExperience {
  const { accounts, clock, log, alarm, worksFor } = deps
  const { role, signer } = of
  let known: KnownNow | null = null
  let readAtMs = Number.NEGATIVE_INFINITY
  /** Whether all that is recorded is in `known`. */
  let isWhole = false
  let recoveredNow: readonly Recovered[] = []
  const read = async () => {
    const fromMs = accounts.forgottenUntilMs(role)
    const before =
      isWhole && known?.fromMs === fromMs ? known.experience : withCases([], await accounts.cases(of))
    isWhole = false
    const { cases, undecided } = await recordCases(of, recoveredNow, deps)
    const added = cases.filter(({ atMs }) => atMs > fromMs)
    const experience = added.length === 0 ? before : withCases(before, added)
    known = { fromMs, experience, lots: undecided.lots }
    isWhole = true
    readAtMs = clock.monotonicMs()
    for (const short of experience.filter((each) => isShort(each, shortOf(worksFor))))
      alarm(shortfall(of, short, shortOf(worksFor)))
  }
  const renewed = createCachedRead(read, {
    clock,
    everyMs: () => READ_EVERY_MS,
    onFailed: (error) => log.warn('could not record what a role expected and got', { role, signer }, error),
  })
  const now: RoleExperience['now'] = (recovered) => {
    if (recovered.length > 0) recoveredNow = recovered
    if (known === null) return []
    const { experience, lots, fromMs } = known
    const more = recoveriesOf(recovered, lots).filter(({ atMs }) => atMs > fromMs)
    if (more.length === 0) return experience
    return withCases(
      experience,
      more.toSorted((one, other) => one.atMs - other.atMs),
    )
  }
  const unread = () => {
    if (clock.monotonicMs() - readAtMs < UNREAD_MS_MAX) return null
    const message = `What came of earlier work of the ${role} was not read ${known === null ? 'yet' : 'for five minutes'}, so nothing is known of what it lost; nothing new begins.`
    return refuse('experience_not_read', message)
  }
  const ready = async () => {
    if (unread() !== null) await renewed.get().catch(() => undefined)
  }
  return { now, begin: renewed.begin, ready, unread }
}

/** So many have to be decided before a shortfall is more than bad luck. */
const CASES_MIN = 10
/** The band of what comes beside what was expected, a part of the mark: a price, or of a vault's move the interest of a day. */
const SHORT = -0.02
const SHORT_OF_INTEREST = -0.25
const shortOf = (worksFor: WorksFor) => (worksFor === 'vaults' ? SHORT_OF_INTEREST : SHORT)

/** Whether what came leaves its band by two standard errors. */
function isShort({ won, errors, squares }: Experience, band: number): boolean {
  if (Math.round(won) < CASES_MIN) return false
  const mean = errors / won
  return mean + 2 * Math.sqrt(Math.max(0, squares / won - mean * mean) / won) < band
}

const shortfall = ({ role, signer }: CasesOf, { of, won, errors }: Experience, band: number) =>
  new RolekeeperError(
    'money.short',
    `Of ${Math.round(won)} that the ${role} won under ${of} came ${((-100 * errors) / won).toFixed(2)} % of the price less than was said, and not by chance; the band is ${-100 * band} %.`,
    {
      fix: `see \`rolekeeper pnl --role ${role} --by workflow\`: are its prices right, and who sells? Pause the role until that is known.`,
      facts: { role, signer, check: of },
    },
  )
