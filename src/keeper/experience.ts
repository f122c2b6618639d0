import type { Address } from 'viem'
import type { Recovered } from '../../agents/agent.ts'
import { type Experience, withCase } from '../../agents/protocol/experience.ts'
import { outcomesOf, recoveriesOf, type Told } from '../accounts/outcomes.ts'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Accounts } from '../journal/accounts.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../ops/log.ts'
import type { Role } from '../service/contract/roles.ts'
import { createRenewed } from './renewed.ts'

/** What became of what a role said, by its accounts. */
export type RoleExperience = {
  /** As it was read last, nothing before; and what became money again of what was bought for others. */
  readonly now: (recovered: readonly Recovered[]) => readonly Experience[]
  /** Read it again if that is due, and do not wait for it. */
  readonly begin: () => void
}

const READ_EVERY_MS = 60_000
/** Pages in mind: one an hour and one for what moves. Older cases have faded by then. */
const PAGES_MAX = 2_000

/** Create the experience of one signer in a role. */
export function createExperience(
  { role, chainId, signer }: { readonly role: Role; readonly chainId: number; readonly signer: Address },
  deps: {
    readonly accounts: Pick<Accounts, 'newest' | 'forgottenUntilMs'>
    readonly journal: Pick<Journal, 'get'>
    readonly clock: Clock
    readonly log: Log
    readonly alarm: (error: RolekeeperError) => void
  },
): RoleExperience {
  const { accounts, journal, clock, log, alarm } = deps
  /** What was told never changes. */
  let told: ReadonlyMap<string, Told> = new Map()
  let fromMs = 0
  const read = async () => {
    const pages = await accounts.newest(chainId, signer, PAGES_MAX)
    const known = new Map<string, Told>()
    for (const { workflowId } of pages.flatMap(({ lines }) => lines)) {
      if (workflowId === null || known.has(workflowId)) continue
      const workflow = told.get(workflowId) ?? (await journal.get(workflowId))
      if (workflow !== null) known.set(workflowId, briefly(workflow))
    }
    told = known
    fromMs = accounts.forgottenUntilMs(role)
    const experience = outcomesOf(pages, known)
      .filter(({ atMs }) => atMs > fromMs)
      .reduce<readonly Experience[]>(withCase, [])
    for (const short of experience.filter(isShort)) alarm(shortfall(role, signer, short))
    return experience
  }
  const renewed = createRenewed(read, {
    ...{ clock, everyMs: () => READ_EVERY_MS },
    onFailed: (error) => log.warn('could not read what came of what was said', { role, signer }, error),
  })
  const now: RoleExperience['now'] = (recovered) =>
    recoveriesOf(recovered, told.values())
      .filter(({ atMs }) => atMs > fromMs)
      .toSorted((one, other) => one.atMs - other.atMs)
      .reduce<readonly Experience[]>(withCase, renewed.last() ?? [])
  return { now, begin: renewed.begin }
}

/** So many have to be decided before a shortfall is more than bad luck. */
const CASES_MIN = 10
/** The band of what comes beside what was said, a part of the mark. */
const SHORT = -0.02

/** Whether what came leaves its band by two standard errors. */
function isShort({ won, errors, squares }: Experience): boolean {
  if (Math.round(won) < CASES_MIN) return false
  const mean = errors / won
  return mean + 2 * Math.sqrt(Math.max(0, squares / won - mean * mean) / won) < SHORT
}

const shortfall = (role: Role, signer: Address, { of, won, errors }: Experience) =>
  new RolekeeperError(
    'money.short',
    `Of ${Math.round(won)} that the ${role} won under ${of} came ${((-100 * errors) / won).toFixed(2)} % of the price less than was said, and not by chance; the band is ${-100 * SHORT} %.`,
    {
      fix: `see \`rolekeeper pnl --role ${role} --by workflow\`: are its prices right, and who sells? Pause the role until that is known.`,
      facts: { role, signer, check: of },
    },
  )

const briefly = ({ id, createdAtMs, proposal: { lot, subject, said } }: Told): Told => ({
  ...{ id, createdAtMs },
  proposal: { subject, ...(lot === undefined ? {} : { lot }), ...(said === undefined ? {} : { said }) },
})
