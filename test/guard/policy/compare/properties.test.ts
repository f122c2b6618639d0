import { describe, expect, it } from 'vitest'
import { agents } from '../../../../agents/index.ts'
import { policySchema } from '../../../../src/config/policy.ts'
import { checkChanges } from '../../../../src/guard/checks/effects.ts'
import { checkHeadAge } from '../../../../src/guard/checks/freshness.ts'
import { checkAllowances } from '../../../../src/guard/limits/allowances.ts'
import { checkBudget } from '../../../../src/guard/limits/budget.ts'
import type { Members } from '../../../../src/guard/policy/compare/difference.ts'
import { changeOf, comparePolicies } from '../../../../src/guard/policy/compare/policies.ts'
import { compileRuleset, type Ruleset } from '../../../../src/guard/ruleset.ts'
import { sectionsOf } from '../../../../src/keeper/policy/role-policy.ts'
import { aimOf, serve, textOf } from '../../../lab/attacks/play.ts'
import { mutated } from '../../../lab/fuzz/answers.ts'
import { chance, pickFrom, whole } from '../../../lab/fuzz/dice.ts'
import { golden } from '../../../lab/fuzz/golden.ts'
import { judged, rulesOf, worldOf } from '../../../lab/fuzz/worlds.ts'
import { createDice, type Dice } from '../../../lab/judgement/dice.ts'
import { policyOf } from '../../../support/policies.ts'
import { TOKENS } from '../../../support/tokens.ts'
import { COLLATERAL, LOAN, MARKET, NOW_MS, SELF } from '../../fixtures.ts'
import { deployment } from '../../kinds.ts'
import { CASES } from '../../shipped.ts'
import { edited } from '../edits.ts'

/** More by hand: `PAIRS=5000 npx vitest run test/guard/policy/compare/properties.test.ts`. */
const PAIRS = Number(process.env.PAIRS ?? '150')

const ROLES = agents.map((agent) => {
  const schema = policySchema(agent.role, sectionsOf(agent, TOKENS))
  return {
    role: agent.role,
    said: policyOf(agent.role) as Members,
    cases: CASES.filter(([, , ruleset]) => ruleset.role === agent.role),
    /** Null for a policy that does not load. */
    load: (said: Members): Ruleset | null => {
      const parsed = schema.safeParse(said)
      if (!parsed.success) return null
      try {
        return compileRuleset(parsed.data, deployment)
      } catch {
        return null
      }
    },
  }
})

/** Two policies of a role that load, one an edit of the other. */
function pair({ said, load }: (typeof ROLES)[number], dice: Dice, at?: 'sanity') {
  const before = chance(dice, 0.5) ? said : edited(said, 2, dice, at)
  const was = load(before) === null ? said : before
  const is = edited(was, 2, dice, at)
  const [old, now] = [load(was), load(is)]
  if (old === null || now === null) return null
  return chance(dice, 0.5) ? { was, is, old, now } : { was: is, is: was, old: now, now: old }
}

/** What clears under the new rules and not under the old ones; null where there is none. */
async function passesOnlyNow(
  { cases }: (typeof ROLES)[number],
  [old, now]: readonly [Ruleset, Ruleset],
  dice: Dice,
): Promise<string | null> {
  for (let count = 0; count < 3; count += 1) {
    const [name, kind, shipped] = pickFrom(dice, cases)
    const aim = chance(dice, 0.5) ? golden(aimOf(kind, shipped), kind, dice) : aimOf(kind, shipped)
    const text = chance(dice, 0.5) ? textOf(aim.answer) : mutated(aim, [aim], dice)
    const outcome = (ruleset: Ruleset) =>
      serve({ ...aim, ruleset }, text).then(
        ({ state }) => state === 'attested',
        (error: Error) => error.message === 'no hostile answer comes so far',
      )
    if ((await outcome(now)) && !(await outcome(old))) return `${name}: ${text}`
    const problem = outsideOnlyNow(aim.proposal.workflowType, old, now, dice)
    if (problem !== null) return `${name}: ${problem}`
  }
  return null
}

/** The same of what moves, what it costs, and how old what we rely on is. */
function outsideOnlyNow(
  type: (typeof CASES)[number][1]['proposal']['workflowType'],
  old: Ruleset,
  now: Ruleset,
  dice: Dice,
): string | null {
  const amount = () =>
    BigInt(pickFrom(dice, [0, 1, 4, 5, 999_999, 1_000_000])) * BigInt(pickFrom(dice, [1, -1]))
  const changes = [
    { token: LOAN, assets: amount() },
    { token: COLLATERAL, assets: amount() },
  ]
  const subject = {
    input: {},
    self: SELF,
    deadlineS: 0n,
    market: deployment.markets[0] ?? null,
    vault: null,
    fund: null,
    deployment,
  }
  const edge = (from: (limits: Ruleset['limits']) => bigint) => {
    const limit = from(pickFrom(dice, [old, now]).limits)
    return limit + BigInt(whole(dice, 3) - 1)
  }
  const section = pickFrom(dice, ['perWorkflow', 'perHour', 'perDay'] as const)
  const row = { atMs: NOW_MS - whole(dice, 90_000_000), reverted: chance(dice, 0.5) }
  const spent = {
    usdMicros: edge((limits) => limits[section].usdMicrosMax) / 2n,
    gasWei: edge((limits) => limits[section].gasWeiMax) / 2n,
  }
  const reservations = Array.from({ length: whole(dice, 3) }, () => ({ ...row, ...spent }))
  const ask = {
    usdMicros: edge((limits) => limits[section].usdMicrosMax),
    gasWei: edge((limits) => limits[section].gasWeiMax),
  }
  const headS = NOW_MS / 1_000 - whole(dice, 60)
  // Of one market each, or of one that is not known.
  const used = { uses: chance(dice, 0.7) ? [`market ${MARKET}`, `counterparty ${MARKET}`] : ['market'] }
  const bait = { usdMicros: BigInt(whole(dice, 25)) * 1_000_000_000n, ...used }
  const rows = Array.from({ length: whole(dice, 4) }, () => ({
    ...row,
    atMs: NOW_MS - whole(dice, 7_200_000),
    ...bait,
  }))
  const judge = ({ effects, limits, allowances, freshness }: Ruleset): Record<string, boolean> => {
    const held = effects.get(type)
    return {
      effects: held !== undefined && checkChanges(changes, held, subject) === null,
      budget: checkBudget({ reservations, ask, limits, nowMs: NOW_MS }).ok,
      allowances: checkAllowances({ allowances, rows, ask: bait, nowMs: NOW_MS }).ok,
      head: checkHeadAge(headS, freshness, NOW_MS) === null,
    }
  }
  const [before, after] = [judge(old), judge(now)]
  return Object.keys(after).find((each) => after[each] === true && before[each] !== true) ?? null
}

describe('what is said to be narrower', () => {
  it('lets nothing through that was not let through before', async () => {
    const problems: string[] = []
    const said = { same: 0, narrower: 0, wider: 0, unknown: 0 }
    let caught = 0
    for (let seed = 1; seed <= PAIRS; seed += 1) {
      const dice = createDice(seed)
      const role = pickFrom(dice, ROLES)
      const found = pair(role, dice)
      if (found === null) continue
      const change = changeOf(comparePolicies(found.was, found.is))
      said[change] += 1
      const passes = await passesOnlyNow(role, [found.old, found.now], dice)
      if (passes === null) continue
      if (change === 'narrower' || change === 'same') problems.push(`seed ${seed}, ${change}: ${passes}`)
      else caught += 1
    }
    expect(problems).toEqual([])
    // Each word is said of some, and the judging sees what is wider: else this would show nothing.
    expect(Math.min(said.narrower, said.wider, said.unknown)).toBeGreaterThan(5)
    expect(caught).toBeGreaterThan(1)
  })

  it('clears nothing by the chain that was not cleared before', () => {
    const problems: string[] = []
    let [cleared, caught] = [0, 0]
    for (let seed = 1; seed <= PAIRS; seed += 1) {
      const dice = createDice(seed)
      const worlds = Array.from({ length: 20 }, () => worldOf(dice))
      const role = ROLES.find((each) => worlds.some((world) => rulesOf(world).role === each.role))
      const found = role === undefined ? null : pair(role, dice, 'sanity')
      if (found === null) continue
      const change = changeOf(comparePolicies(found.was, found.is))
      for (const world of worlds.filter((each) => rulesOf(each).role === found.now.role)) {
        if (judged(world, found.now) !== null) continue
        cleared += 1
        const before = judged(world, found.old)
        if (before === null) continue
        caught += 1
        if (change === 'narrower' || change === 'same')
          problems.push(`seed ${seed}, ${change}: ${before.check}`)
      }
    }
    expect(problems).toEqual([])
    expect(Math.min(cleared, caught)).toBeGreaterThan(1)
  })

  it('is narrower still beside another that is', () => {
    for (let seed = 1; seed <= 500; seed += 1) {
      const dice = createDice(seed)
      const { said } = pickFrom(dice, ROLES)
      const was = edited(said, 3, dice)
      const is = edited(was, 2, dice)
      const [there, back] = [changeOf(comparePolicies(was, is)), changeOf(comparePolicies(is, was))]
      // What lets less through one way lets more through the other way, or nobody can say.
      if (there === 'narrower') expect(['wider', 'unknown']).toContain(back)
      if (there === 'same') expect(back).toBe('same')
    }
  })
})
