import type { Agent, Decision, Moment } from '../../../agents/agent.ts'
import { type Board, ROWS_MAX } from '../../../agents/board.ts'
import type { RunConfig } from '../../config/config.ts'
import { printable, RolekeeperError } from '../../errors.ts'
import type { BudgetState } from '../../guard/limits/budget.ts'
import type { PageParts } from '../../ops/console/streams.ts'
import type { Facet } from '../../ops/facet.ts'
import { wayOut } from '../../pipeline/transactions/safe.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import { atWork, type HealthDeps, liveOf, reasonsOf, rolesOf } from '../health/keeper-view.ts'
import { type LimitUse, usedNow } from '../health/limit-use.ts'
import type { Earned } from '../money/earned.ts'
import type { MoneyToday } from '../money/run-money.ts'
import type { Candidate } from '../policy/candidates.ts'
import { positionOf } from '../policy/role-policy.ts'
import { nearest } from '../role/duty-ledger.ts'
import type { RoleState } from '../role/role.ts'
import type { Flows } from './flows.ts'

/** What the page is made of. */
export type PartsDeps = {
  readonly looked: HealthDeps
  readonly facets: () => readonly Facet[]
  readonly config: RunConfig
  readonly version: string
  readonly startedAtMs: number
  readonly candidates: readonly Candidate[]
  readonly flows: Flows
  readonly earned: Earned
  readonly money: MoneyToday
  readonly clean: (text: string) => string
}

/** A list of a hundred addresses, or the longest text of an input. */
export const TEXT_MAX = 10_000

/** Read all that the console shows, as it is now: nothing is asked of anybody outside. */
export async function readParts(deps: PartsDeps): Promise<PageParts> {
  const { looked, flows, earned, money } = deps
  money.begin()
  const used = await usedNow(looked)
  const places = rolesOf(looked).map((place) => ({ ...place, ...whatOf(place, deps) }))
  const live = liveOf(looked)
  const boards = places.flatMap(({ board }) => board ?? [])
  const rows = <Name extends keyof Board>(name: Name) =>
    boards
      .flatMap((board): readonly { readonly subject: string }[] => board[name] ?? [])
      .slice(0, ROWS_MAX)
      .map((row) => ({ ...row, name: subjectName(row.subject, deps.config.deployment) }))
  return {
    keeper: keeperOf(deps),
    facets: deps.facets(),
    roles: places.map((place) => roleOf(place, live, looked)),
    budgets: budgetsOf(used, looked),
    workflows: flows.list(live),
    positions: rows('positions'),
    allocations: rows('allocations'),
    navs: rows('navs'),
    lots: rows('lots'),
    approvals: live
      .filter(isHeld)
      .slice(0, ROWS_MAX)
      .map((held) => approvalOf(held, deps)),
    money: { today: money.last(), points: earned.points(), gains: flows.gains() },
    alarms: flows.alarms(),
    nodes: (looked.nodes()?.health() ?? []).map(({ node, state, blocksBehind }) => ({
      node,
      state,
      blocksBehind,
    })),
  }
}

const keeperOf = ({ looked, config, version, startedAtMs }: PartsDeps) => ({
  environment: config.environment,
  chainId: config.chain.id,
  directory: config.directory,
  version,
  startedAtMs,
  nowMs: looked.clock.nowMs(),
  control: looked.control(),
  acts: config.fleet === undefined,
  standing: looked.standing().message,
})

type RolePlace = { readonly agent: RunConfig['agents'][number]; readonly state: RoleState }
type What = {
  readonly seen: Moment | null
  readonly decided: Decision | null
  readonly board: Board | null
}

/** Of a decision its board is always the same, and a page is told of one many times. */
const BOARDS = new WeakMap<Decision, Board>()

/** What a role saw and decided last, and what it shows of that. */
function whatOf({ agent, state }: RolePlace, { candidates }: PartsDeps): What {
  const found = candidates.find(
    (one) => one.agent.role === agent.role && one.agent.signer.address === agent.signer.address,
  )
  if (state.type !== 'up' || found === undefined || found.policy instanceof RolekeeperError)
    return { seen: null, decided: null, board: null }
  const { duty } = state.role
  const [seen, decided] = [duty.lastSeen(), duty.lastDecision()]
  const { does, policy } = found.policy as { readonly does: Agent; readonly policy: { strategy: unknown } }
  if (seen === null || decided === null) return { seen, decided, board: null }
  const known = BOARDS.get(decided)
  const board = known ?? does.board?.(seen, decided, policy.strategy) ?? null
  if (board !== null) BOARDS.set(decided, board)
  return { seen, decided, board }
}

/** Rules that stopped most, the first of them before all. */
const CHECKS_MAX = 5

function roleOf(
  { agent, state, seen, decided, board }: RolePlace & What,
  live: readonly Workflow[],
  looked: HealthDeps,
) {
  const { role, mode, signer } = agent
  const mine = live.filter((one) => one.role === role && one.signer === signer.address)
  const stopped = Map.groupBy(decided?.passedOver ?? [], ({ check }) => check)
  const key = state.type === 'up' ? state.role.vitals.key() : null
  return {
    role,
    mode,
    signer: signer.address,
    state: state.type,
    shows: Object.keys(board ?? {}),
    reason: state.type === 'down' ? `${state.reason.message}` : null,
    isByHand: positionOf(agent).does.byHand === true,
    decidedAtMs: state.type === 'up' ? state.role.duty.lastDecidedAtMs() : null,
    proposals: decided?.proposals.length ?? 0,
    passedOver: decided?.passedOver.length ?? 0,
    checks: [...stopped]
      .map(([check, all]) => ({ check, count: all.length, ...exampleOf(all) }))
      .toSorted((one, other) => other.count - one.count)
      .slice(0, CHECKS_MAX),
    live: mine.length,
    held: mine.filter(isHeld).length,
    openNonces: mine.flatMap(({ slots }) => slots).filter((slot) => slot.state === 'open').length,
    balance: seen === null ? null : `${(Number(seen.nativeBalanceWei) / 1e18).toFixed(4)} ETH`,
    block: seen === null ? null : String(seen.chain.blockNumber),
    key: key?.code ?? null,
    safe: reasonsOf(signer.address, looked).map((reason) => ({
      check: reason.check,
      message: reason.message,
      fix: wayOut(signer.address, reason),
    })),
  }
}

/** The nearest to acting, as the status takes it. */
function exampleOf(all: Decision['passedOver']) {
  const [first] = all.toSorted(nearest)
  return { subject: first?.subject ?? '', message: first?.message ?? '' }
}

/** What of each limit is used, what is left of it, and when the first of it is free again. */
function budgetsOf(used: LimitUse, looked: HealthDeps) {
  const lineOf = (role: string, { name, part, left, limit, freesAtMs }: BudgetState) => ({
    role,
    budget: name,
    used: part,
    left,
    most: limit,
    freesAtMs,
  })
  const bareOf = (role: string, budget: string, part: number) => ({
    role,
    budget,
    used: part,
    left: null,
    most: null,
    freesAtMs: null,
  })
  const ofRoles = [...new Set(rolesOf(looked).map(({ agent }) => agent.role))].flatMap((role) => {
    const keys = atWork(looked).filter((each) => each.role === role)
    const { budgets, allowances } = used.ofRole(role, keys)
    const states = worstOf(used.statesOf(role, keys))
    const names = new Set(states.map(({ name }) => name))
    // Of what allows nothing, nothing is used up.
    const others = Object.entries(budgets).filter(([name]) => !names.has(name) && !OF_LIMITS.test(name))
    return [
      ...states.map((state) => lineOf(role, state)),
      ...others.map(([name, part]) => bareOf(role, name, part)),
      ...Object.entries(allowances).map(([place, part]) => bareOf(role, `allowance ${place}`, part)),
    ]
  })
  return [...used.statesOfCap.map((state) => lineOf('all roles', state)), ...ofRoles].slice(0, ROWS_MAX)
}

const OF_LIMITS = /^(usd|gas|reverts)_per_(hour|day)$/

/** Of several keys of a role, the one that has the least left says. */
const worstOf = (states: readonly BudgetState[]): readonly BudgetState[] =>
  [...Map.groupBy(states, ({ name }) => name).values()].flatMap(
    (each) => each.toSorted((one, other) => other.part - one.part)[0] ?? [],
  )

/** All that a person has to read before it is approved, and whether the page can show the whole of it. */
function approvalOf({ id, role, signer, chainId, proposal, hold }: Workflow, { clean, config }: PartsDeps) {
  const shown = hold?.shown
  const isWhole = (text: string) => clean(text) === printable(text, Number.MAX_SAFE_INTEGER)
  const texts = [
    ...(shown?.calls ?? []).flatMap((call) => [
      ...[call.to, call.function, ...call.notes],
      ...call.arguments.flatMap(({ name, value }) => [name, value]),
    ]),
    ...(shown?.effects ?? []),
    ...(shown?.changes ?? []).flatMap(({ field, from, to }) => [field, from ?? '', to]),
  ]
  return {
    id,
    role,
    signer,
    chainId,
    workflowType: proposal.workflowType,
    subject: proposal.subject,
    name: subjectName(proposal.subject, config.deployment),
    summary: proposal.summary,
    check: hold?.check,
    message: hold?.message,
    hash: hold?.hash,
    untilMs: hold?.untilMs,
    calls: shown?.calls,
    effects: shown?.effects,
    changes: shown?.changes,
    day: shown?.day,
    askedBy: shown?.askedBy,
    quorum: shown?.quorum,
    approvers: shown?.approvers,
    approvedBy: hold?.approvals.map(({ by }) => by),
    /** Where people have to prove who they are, or a part of it cannot be shown here, a command is given instead. */
    here: config.fleet === undefined && shown?.approvers === null && texts.every(isWhole),
  }
}
