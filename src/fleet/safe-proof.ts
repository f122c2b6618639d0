import type { Reservation } from '../journal/journal.ts'
import { following, type SafeRelease } from '../journal/redis/seats/safe-sequence.ts'
import { type FleetDoubt, type LeftSafe, leftName, safeName, safeSeats } from './doubts.ts'
import type { Evidence } from './evidence.ts'
import type { Author } from './switches.ts'

/** One thing that must be proven before a signer leaves SAFE, and what was seen of it. */
export type Check = {
  readonly what: string
  readonly isProven: boolean
  readonly seen: string
  /** What proves it; absent where it is proven. */
  readonly fix?: string
}

/** What a node counts of a signer, in blocks and with its pool; or why it does not say. */
type Counts = { readonly node: string } & (
  | { readonly latest: number; readonly pending: number }
  | { readonly problem: string }
)

/** What the nodes show of a signer. */
export type ChainEvidence = {
  readonly counts: readonly Counts[]
  /** Mined in the last day and not in the ledger by digest, oldest first; null where the nodes do not say. */
  readonly adopted: readonly Adopted[] | null
}

/** A transaction of the chain that the ledger does not have. */
export type Adopted = {
  readonly nonce: number
  readonly hash: string
  readonly atMs: number
  readonly gasWei: bigint
  readonly reverted: boolean
}

/** What a person asks for. */
export type LeaveRequest = {
  /** The seat's name: its signer's address in lower case. */
  readonly seat: string
  readonly chainId: number
  readonly roster: readonly string[]
  /** All seats that sign. */
  readonly seats: readonly string[]
  readonly gone: readonly string[]
  /** Nonces that the signer may have in flight. */
  readonly window: number
}

/** Nonces that something may land on which everybody has forgotten. */
export type Gap = { readonly from: number; readonly to: number }

/** Judge what was seen: what is proven, and what is not. Pure. */
export function judge(asked: LeaveRequest, evidence: Evidence, chain: ChainEvidence): readonly Check[] {
  return [...asked.roster.map((name) => memberCheck(name, asked, evidence)), ...chainChecks(asked, chain)]
}

function memberCheck(name: string, { gone }: LeaveRequest, evidence: Evidence): Check {
  const what = `the instance ${name} is heard, or gone`
  const testimony = evidence.testimonies.find(({ instance }) => instance === name)
  const isHeard = testimony !== undefined || (evidence.forgotten === null && evidence.attested.has(name))
  if (isHeard && gone.includes(name)) {
    return { what, isProven: false, seen: 'it is there', fix: `leave \`--gone ${name}\` out` }
  }
  if (gone.includes(name)) return { what, isProven: true, seen: 'you say that it is gone for good' }
  const author = goneBy(name, evidence)
  if (author !== null) return { what, isProven: true, seen: `${author.by} said that it is gone for good` }
  if (testimony !== undefined) {
    return { what, isProven: true, seen: `it saw sequence ${testimony.seq} of generation ${testimony.gen}` }
  }
  if (isHeard) return { what, isProven: true, seen: 'it finds nothing missing' }
  return {
    what,
    isProven: false,
    seen: 'it has said nothing to this Redis',
    fix: `start it, or wait a moment where it runs; or \`--gone ${name}\`, once its process has ended for good and its credentials are revoked`,
  }
}

/** What the node counts that is furthest. Pure. */
export const latestOf = (counts: readonly Counts[]): number =>
  Math.max(0, ...counts.flatMap((each) => ('problem' in each ? [] : [each.latest])))

const goneName = (name: string): string => `gone:${name}`

/** That an instance is gone for good, as a person said when a generation began. */
type ForgottenGeneration = Author & { readonly gen: string }

/** Who said so of the generation of now: of a later one it says nothing, as the instance may be back. Pure. */
function goneBy(name: string, { controls, gen, forgotten }: Evidence): Author | null {
  const text = controls.get(goneName(name))
  if (text === undefined || forgotten !== null) return null
  const record: ForgottenGeneration = JSON.parse(text)
  return record.gen === gen ? record : null
}

function chainChecks({ seat }: LeaveRequest, { counts, adopted }: ChainEvidence): readonly Check[] {
  const latest = latestOf(counts)
  const differing = counts.filter(
    (each) => 'problem' in each || each.latest !== latest || each.pending !== latest,
  )
  const seen = counts
    .map((each) =>
      'problem' in each
        ? `${each.node} does not say (${each.problem})`
        : `${each.node} counts ${each.latest} and ${each.pending} pending`,
    )
    .join('; ')
  const pending = { what: `nothing of ${seat} is pending on any node`, seen }
  const ledger = `each nonce of the last day is in the ledger by its digest, or adopted`
  return [
    differing.length === 0
      ? { ...pending, isProven: true }
      : {
          ...pending,
          isProven: false,
          fix: 'wait until all say the same, and give the command again; leave one that cannot count out of `chain.nodes` for it',
        },
    adopted === null
      ? {
          what: ledger,
          isProven: false,
          seen: 'the nodes do not say what was mined a day ago',
          fix: 'give the command again; where they still do not say, name an archive node in `chain.nodes.read`',
        }
      : {
          what: ledger,
          isProven: true,
          seen: adopted.length === 0 ? 'nothing is missing' : `${adopted.length} are missing: adopted`,
        },
  ]
}

/**
 * Say which nonces must be closed before anything new: a key was asked to sign them, or nobody knows whether it was, and they
 * did not land. Null where there is none. Pure.
 */
export function gapOf({ seat, gone, window }: LeaveRequest, evidence: Evidence, latest: number): Gap | null {
  const tops = evidence.testimonies.map(({ tops }) => tops[seat] ?? -1)
  const doubt = topOfDoubt(evidence.controls.get(safeName(seat)))
  const isUnknown =
    (evidence.forgotten === null && doubt === undefined) ||
    doubt === null ||
    gone.some((name) => evidence.testimonies.every(({ instance }) => instance !== name))
  const to = Math.max(...tops, doubt ?? -1, isUnknown ? latest + window - 1 : -1)
  return to < latest ? null : { from: latest, to }
}

/** A doubt of a seat that was not proven wrong with the first one: the highest nonce, null where nobody knows it. */
type LaterDoubt = FleetDoubt & Author & { readonly top: number | null }

/** Undefined where the doubt says nothing of it. Pure. */
function topOfDoubt(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined
  try {
    const { top }: Partial<LaterDoubt> = JSON.parse(text)
    return top
  } catch {
    return null
  }
}

/** What leaving is written with. */
type LeaveParts = {
  readonly author: Author
  readonly latest: number
  readonly gap: Gap | null
  readonly charged: readonly Reservation[]
  /** Of the journal: what keeps the signer SAFE until its gap is closed. */
  readonly values: ReadonlyMap<string, string>
}

/** Say what is written once all is proven. */
export function leavingOf(asked: LeaveRequest, evidence: Evidence, parts: LeaveParts): SafeRelease {
  const { seat, gone, chainId } = asked
  const { gen, parents, server, runId, forgotten, testimonies } = evidence
  const { author, latest, gap, charged, values } = parts
  const known = [...testimonies.map((each) => each.gen), gen, ...parents].filter((each) => each !== '')
  const seq = Math.max(evidence.seq, ...testimonies.map((each) => each.seq))
  // What an hour ago was found, or in a role's budget alone, has no testimony; and where this seat was SAFE by then, only those
  // that had left it say so.
  const doubts = safeSeats(evidence.controls)
  const isDoubted = [...testimonies, ...doubts].some((each) => each.gen === gen)
  const isNew = forgotten !== null || isDoubted || gone.some((name) => goneBy(name, evidence) === null)
  const begins = isNew ? following(known, seq) : null
  const left: LeftSafe = { ...author, over: isNew ? [...new Set(known)] : parents }
  const others = isNew ? asked.seats.filter((each) => each !== seat) : []
  return {
    seat,
    expected: gen,
    begins,
    server,
    runId,
    gone,
    charged,
    values,
    signer: { chainId, address: seat, next: gap === null ? latest : gap.to + 1 },
    controls: new Map([
      ...others.map(
        (each) => [safeName(each), JSON.stringify(laterDoubt(each, asked, evidence, author))] as const,
      ),
      [safeName(seat), ''] as const,
      [leftName(seat), JSON.stringify(left)] as const,
      ...(begins === null ? [] : gone).map(
        (name) => [goneName(name), JSON.stringify({ ...author, gen: begins?.gen })] as const,
      ),
    ]),
  }
}

/** Nothing else shows it once the generation has begun. */
function laterDoubt(seat: string, { gone }: LeaveRequest, evidence: Evidence, author: Author): LaterDoubt {
  const tops = evidence.testimonies.map(({ tops }) => tops[seat] ?? -1)
  // Whoever was gone by then may be in no roster any more.
  const before = topOfDoubt(evidence.controls.get(safeName(seat)))
  const isUnknown = gone.length > 0 || tops.length === 0 || before === null
  return {
    ...author,
    check: 'fleet_amnesia',
    message: 'Redis has forgotten what it acknowledged, and a generation began since.',
    seen: evidence.forgotten ?? `${gone.join(', ') || 'an instance'} may have known more`,
    toLeave: `see \`rolekeeper safe leave ${seat}\``,
    top: isUnknown ? null : Math.max(...tops, before ?? -1),
  }
}
