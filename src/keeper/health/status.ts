import { endsWithin } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { headText } from '../../ops/audit/chain.ts'
import type { SummaryEvent } from '../../ops/events.ts'
import type { Facet } from '../../ops/facet.ts'
import type { KeeperStatus, RoleStatus } from '../../ops/status.ts'
import { isHeld } from '../../workflow/workflow.ts'
import type { MoneyToday } from '../money/run-money.ts'
import { readGauges } from './gauges.ts'
import { type HealthDeps, liveOf, rolesOf } from './keeper-view.ts'
import { type LimitUse, usedNow } from './limit-use.ts'

/** What saying how a keeper stands needs beside what it is looked at by. */
export type StatusDeps = {
  readonly looked: HealthDeps
  readonly config: RunConfig
  readonly version: string
  readonly money: MoneyToday
}

/** So long a status waits for the sums of today. */
const MONEY_MS_MAX = 1_000

const iso = (ms: number) => new Date(ms).toISOString()
const isoOf = (ms: number | null) => (ms === null ? null : iso(ms))

/** Create what says how a keeper stands. */
export function createStatus(deps: StatusDeps): (facets: readonly Facet[]) => Promise<KeeperStatus> {
  const { looked, config, version, money } = deps
  const { clock } = looked
  const startedAt = iso(clock.nowMs())
  return async (facets) => {
    // What takes longer is as it was read last: the rest is needed now.
    await endsWithin(
      money.get().catch(() => null),
      MONEY_MS_MAX,
      clock,
    )
    const used = await usedNow(looked)
    const gauges = readGauges(looked, used)
    return {
      at: iso(clock.nowMs()),
      environment: config.environment,
      chainId: config.chain.id,
      directory: config.directory,
      version,
      startedAt,
      auditHead: headText(looked.kept().audit.head),
      ready: facets.every(({ state }) => state !== 'failing'),
      facets: facets.map(({ sinceMs, ...facet }) => ({ ...facet, since: iso(sinceMs) })),
      roles: rolesOf(looked).map((place) => roleStatus(place, { gauges, used, money: money.last() })),
      nodes: gauges.nodes.map(({ node, state, headNumber, blocksBehind, errors }) => ({
        node,
        state,
        blocksBehind,
        errors,
        head: headNumber === null ? null : String(headNumber),
      })),
      approvals: liveOf(looked).flatMap((workflow) => {
        const { id, role, proposal, hold } = workflow
        if (!isHeld(workflow) || hold === undefined) return []
        const { check, message, untilMs } = hold
        const { workflowType, summary } = proposal
        return { id, role, workflowType, summary, check, message, expires: iso(untilMs) }
      }),
    }
  }
}

type StatusFacts = {
  readonly gauges: ReturnType<typeof readGauges>
  readonly used: LimitUse
  readonly money: SummaryEvent['money'] | null
}

function roleStatus(
  { agent, state }: ReturnType<typeof rolesOf>[number],
  { gauges, used, money }: StatusFacts,
): RoleStatus {
  const { role, mode, signer } = agent
  const figures = gauges.roles.find((each) => each.role === role)
  const duty = state.type === 'up' ? state.role.duties() : null
  const budgets = state.type === 'up' ? used.statesOf(role, [state.role]) : []
  return {
    role,
    mode,
    signer: signer.address,
    state: state.type,
    why: state.type === 'down' ? state.reason.shortMessage : null,
    lastAct: isoOf(duty?.lastActAtMs ?? null),
    lastProposal: isoOf(duty?.lastProposalAtMs ?? null),
    nextDue: isoOf(duty?.nextDueAtMs ?? null),
    acts: duty?.actsSinceStart ?? 0,
    lookedAt: duty?.lookedAt ?? null,
    late: (duty?.late ?? []).map(({ what, subject, sinceMs, amount, check, message }) => ({
      what,
      subject,
      message,
      since: iso(sinceMs),
      amount: amount ?? null,
      check: check ?? null,
    })),
    lateCount: duty?.lateCount ?? 0,
    because: (duty?.nothingBecause ?? []).map(({ refusedAtMs, ...reason }) =>
      refusedAtMs === undefined ? reason : { ...reason, refusedAt: iso(refusedAtMs) },
    ),
    budgets: budgets.map(({ name, part, used, limit, left, freesAtMs }) => ({
      name,
      part,
      used,
      limit,
      left,
      frees: isoOf(freesAtMs),
    })),
    exposureUsdMicros: String(figures?.exposureUsdMicros ?? 0n),
    inventory: figures?.inventory ?? {},
    live: figures?.workflowsLive ?? 0,
    held: figures?.workflowsHeld ?? 0,
    realizedTodayUsdMicros: money?.[role]?.realizedUsdMicros ?? null,
    markedTodayUsdMicros: money?.[role]?.markedUsdMicros ?? null,
  }
}
