import type { Address } from 'viem'
import { systemClock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { agentsOf } from '../../config/fleet.ts'
import { RolekeeperError } from '../../errors.ts'
import { type EvidencePlace, readEvidence } from '../../fleet/evidence.ts'
import {
  type Adopted,
  type ChainEvidence,
  type Check,
  type Gap,
  gapOf,
  judge,
  type LeaveRequest,
  latestOf,
  leavingOf,
} from '../../fleet/safe-proof.ts'
import type { Author } from '../../fleet/switches.ts'
import type { Reservation } from '../../journal/journal.ts'
import { openCommandLine } from '../../journal/redis/link/command-line.ts'
import { createRedisReads, type RedisReads } from '../../journal/redis/records/reads.ts'
import { leaveSafe } from '../../journal/redis/seats/safe-sequence.ts'
import { forgottenNonces, readSafe, safeKey } from '../../pipeline/transactions/safe.ts'
import { loadRolePolicy, positionOf } from '../policy/role-policy.ts'
import { readAdopted, readSignerEvidence } from './evidence.ts'

/** What a person asks for about one signer of a fleet. */
export type AskedToLeave = Omit<LeaveRequest, 'window' | 'chainId'> & {
  readonly place: EvidencePlace
  readonly author: Author
}

/** What leaving SAFE takes and comes to. */
export type LeavePlan = {
  readonly checks: readonly Check[]
  readonly adopted: readonly Adopted[]
  /** So many of all other signers, where a generation begins. */
  readonly adoptedOfOthers: number
  /** Nonces that the holder closes with no-ops before anything else; null where there is none. */
  readonly gap: Gap | null
  /** Whether a generation begins with it, and which it follows. */
  readonly begins: boolean
  readonly generation: string
  /** What of the fleet is gone with what Redis forgot. */
  readonly forgotten: string | null
  /** Write it. Throws RolekeeperError `fleet.not_proven` where something is not, and `fleet.changed`. */
  readonly act: () => Promise<void>
}

/** Look whether a signer may leave SAFE, and what that would do. Throws what the nodes, Redis and the policies answer. */
export async function planToLeave(config: RunConfig, asking: AskedToLeave): Promise<LeavePlan> {
  const { place, author, seat } = asking
  const agents = agentsOf(seat, config)
  const [agent] = agents
  if (agent === undefined || seat.startsWith('shadow:')) throw unknown(seat)
  const { address, window } = agent.signer
  const asked: LeaveRequest = { ...asking, chainId: config.chain.id, window }
  const line = openCommandLine(place.store, false)
  const reads = createRedisReads(line)
  try {
    const evidence = await readEvidence(place, line)
    const look = { clock: systemClock, journal: reads }
    const chain = await readSignerEvidence(address, config, look)
    const latest = latestOf(chain.counts)
    const gap = gapOf(asked, evidence, latest)
    const values = await valuesOf(asked, { gap, reads, author })
    const alone = leavingOf(asked, evidence, { author, latest, gap, charged: [], values })
    // All signers share their roles' budgets: what the others moved counts before the first of them goes on.
    const others = alone.begins === null ? [] : asked.seats.filter((each) => each !== seat)
    const moved = new Map([...(await readAdopted(others, config, look)), [seat, chain.adopted]])
    const isKnown = [...moved.values()].every((each) => each !== null)
    const checks = judge(asked, evidence, isKnown ? chain : { ...chain, adopted: null })
    const leaving = { ...alone, charged: [...moved].flatMap((each) => chargesOf(each, config)) }
    return {
      checks,
      adopted: chain.adopted ?? [],
      gap,
      forgotten: evidence.forgotten,
      adoptedOfOthers: others.reduce((sum, each) => sum + (moved.get(each)?.length ?? 0), 0),
      begins: leaving.begins !== null,
      generation: evidence.gen,
      act: async () => {
        if (checks.some(({ isProven }) => !isProven)) throw notProven(seat)
        const writer = openCommandLine(place.store, false)
        await leaveSafe(leaving, place.store.fleet, writer).finally(writer.close)
      },
    }
  } finally {
    line.close()
  }
}

/** What was moved is not known of a transaction that nobody remembers: it counts as the most that its role may move at once. */
function chargesOf(
  [seat, adopted]: readonly [string, ChainEvidence['adopted']],
  config: RunConfig,
): readonly Reservation[] {
  if (adopted === null || adopted.length === 0) return []
  return agentsOf(seat, config).flatMap((agent) => {
    const { role, signer } = agent
    const { usdMicrosMax } = loadRolePolicy(positionOf(agent), config).policy.limits.perWorkflow
    return adopted.map(({ nonce, atMs, gasWei, reverted }) => ({
      workflowId: `adopted:${seat}:${nonce}`,
      role,
      signer: signer.address,
      atMs,
      gasWei,
      reverted,
      usdMicros: reverted ? 0n : usdMicrosMax,
    }))
  })
}

/** Keep the signer SAFE for as long as something forgotten may land. */
async function valuesOf(
  { seat, chainId }: LeaveRequest,
  { gap, reads, author }: { readonly gap: Gap | null; readonly reads: RedisReads; readonly author: Author },
): Promise<ReadonlyMap<string, string>> {
  if (gap === null) return new Map()
  const signer = seat as Address
  const reasons = await readSafe(reads, chainId, signer)
  const reason = { ...forgottenNonces(gap), atMs: author.atMs }
  return new Map([[safeKey(chainId, signer), JSON.stringify([...reasons, reason])]])
}

const unknown = (seat: string) =>
  new RolekeeperError('fleet.no_signer', `${seat} signs for no live agent of this configuration.`, {
    fix: 'give the address of a signer; `rolekeeper fleet` has them.',
  })

const notProven = (seat: string) =>
  new RolekeeperError('fleet.not_proven', `${seat} stays SAFE: not all is proven.`, {
    fix: 'see what is missing above.',
  })
