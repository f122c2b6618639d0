import { setImmediate } from 'node:timers/promises'
import type { Address } from 'viem'
import type { Decision, InFlight, Observation, Role } from './agent.ts'
import { createDecisionMemory } from './decision-memory.ts'
import type { Journal } from './journal/journal.ts'
import type { KeeperEvent } from './keeper-events.ts'
import { openProposal } from './open.ts'
import type { Refusal } from './workflow/verdict.ts'
import type { Workflow } from './workflow/workflow.ts'

/** What a role's duty needs. */
export type DutyDeps = {
  readonly role: Role
  readonly chainId: number
  readonly signer: Address
  readonly nowMs: () => number
  readonly observe: (inFlight: readonly InFlight[], previous: Observation | null) => Promise<Observation>
  readonly decide: (seen: Observation) => Decision
  /** Why nothing new may begin, or null: then nothing is opened, and no try is used up. */
  readonly stopped: () => Refusal | null
  readonly journal: Pick<Journal, 'open' | 'byOpportunity' | 'live' | 'addDecisions'>
  readonly onOpened: (workflow: Workflow) => void
  readonly onDecided: (decision: Decision, seen: Observation, tookMs: number) => void
  readonly onFailed: (error: unknown) => void
  readonly emit: (event: KeeperEvent) => void
}

/** A role on duty: it looks when told to, decides, and opens workflows. */
export type Duty = {
  /** Look soon: at once, or once more after the look under way. */
  readonly look: () => void
  /** Decide nothing any more; resolves when the look under way has ended. */
  readonly stop: () => Promise<void>
  readonly lastSeen: () => Observation | null
  readonly lastDecidedAtMs: () => number | null
}

const inFlight = (workflow: Workflow): InFlight => ({
  workflowId: workflow.id,
  workflowType: workflow.proposal.workflowType,
  subject: workflow.proposal.subject,
  input: workflow.proposal.input,
  exposure: workflow.proposal.exposure,
})

/** Create a role's duty. Hints that come during a look are one more look: state is read anew each time. */
export function createDuty(deps: DutyDeps): Duty {
  const remember = createDecisionMemory(deps.role)
  const announce = createAnnouncer(deps.emit)
  let previous: Observation | null = null
  let decidedAtMs: number | null = null
  let looking: Promise<void> | undefined
  let again = false
  let stopped = false

  const lookOnce = async () => {
    const live = await deps.journal.live()
    const mine = live.filter((workflow) => workflow.role === deps.role)
    const seen = await deps.observe(mine.map(inFlight), previous)
    const startedAtMs = performance.now()
    const decision = deps.decide(seen)
    const tookMs = performance.now() - startedAtMs
    previous = seen
    decidedAtMs = deps.nowMs()
    if (stopped) return
    announce(seen, decision)
    const halt = deps.stopped()
    const opened = await Promise.all(
      decision.proposals.map((proposal) => halt ?? openProposal(proposal, deps, deps)),
    )
    for (const result of opened) if (result.ok) deps.onOpened(result.workflow)
    const stood = {
      proposals: decision.proposals.filter((_, index) => opened[index]?.ok),
      passedOver: [
        ...decision.passedOver,
        ...decision.proposals.flatMap(({ subject, reason }, index) => {
          const result = opened[index]
          return result === undefined || result.ok ? [] : [{ subject, reason, ...result }]
        }),
      ],
    }
    await deps.journal.addDecisions(remember(stood, decidedAtMs))
    deps.onDecided(stood, seen, tookMs)
  }

  const loop = async () => {
    do {
      // What a block changed comes as a burst of hints: those that are here by now ask for one and the same look.
      await setImmediate()
      again = false
      try {
        await lookOnce()
      } catch (error) {
        deps.onFailed(error)
      }
    } while (again && !stopped)
    // In the same turn as the test above: a hint that comes now begins a look of its own.
    looking = undefined
  }

  return {
    look: () => {
      if (stopped) return
      again = true
      looking ??= loop()
    },
    stop: async () => {
      stopped = true
      await looking
    },
    lastSeen: () => previous,
    lastDecidedAtMs: () => decidedAtMs,
  }
}

/** Tell prices and health factors when they change, for whoever watches. */
function createAnnouncer(emit: (event: KeeperEvent) => void) {
  const prices = new Map<string, bigint>()
  let healths: ReadonlyMap<string, string> = new Map()
  return (seen: Observation, decision: Decision): void => {
    const at = new Date(seen.nowMs).toISOString()
    for (const market of seen.markets) {
      const priceWad = market.oracle?.priceWad
      if (priceWad === undefined || prices.get(market.id) === priceWad) continue
      prices.set(market.id, priceWad)
      const symbol = `${market.collateralSymbol ?? '?'}/${market.loanSymbol ?? '?'}`
      emit({ type: 'price', at, marketId: market.id, symbol, priceWad: String(priceWad) })
    }
    // Only of what was seen this time: subjects come and go, for as long as the process runs.
    const now = new Map<string, string>()
    for (const { subject, reason } of [...decision.proposals, ...decision.passedOver]) {
      const { healthFactorWad } = reason
      if (typeof healthFactorWad !== 'string') continue
      now.set(subject, healthFactorWad)
      if (healths.get(subject) !== healthFactorWad) emit({ type: 'health', at, subject, healthFactorWad })
    }
    healths = now
  }
}
