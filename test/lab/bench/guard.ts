import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import { CHAIN_ID, freeze, NOW_MS, SELF } from '../../guard/fixtures.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { aimOf } from '../attacks/play.ts'
import { golden } from '../fuzz/golden.ts'
import { createDice } from '../judgement/dice.ts'

const TYPES_WARM = 300
const RUNS = 2_000

/** How long the static guard takes over one answer, by kind of workflow; milliseconds. */
export type GuardFigures = {
  readonly kinds: readonly { readonly name: string; readonly p50Ms: number; readonly p99Ms: number }[]
  readonly p99MsMost: number
}

/** Judge valid answers of every kind that the shipped policies allow, each for the first time. */
export function measureGuard(say: (text: string) => void): GuardFigures {
  const kinds = PREPARED.map(([name, kind, ruleset]) => {
    say(name)
    const aim = aimOf(kind, ruleset)
    const tookMs: number[] = []
    for (let run = 0; run < TYPES_WARM + RUNS; run += 1) {
      const { proposal, answer } = golden(aim, kind, createDice(run))
      const frozen = freeze(answer)
      const workflow = { role: ruleset.role, chainId: CHAIN_ID, signer: SELF, proposal }
      const startedAtMs = performance.now()
      const checked = checkPrepared({ workflow, frozen, ruleset, nowMs: NOW_MS })
      const ms = performance.now() - startedAtMs
      if (!checked.ok) throw new TypeError(`${name} is refused: ${checked.check}`)
      if (run >= TYPES_WARM) tookMs.push(ms)
    }
    tookMs.sort((one, other) => one - other)
    const at = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? 0
    return { name, p50Ms: at(0.5), p99Ms: at(0.99) }
  })
  return { kinds, p99MsMost: Math.max(...kinds.map(({ p99Ms }) => p99Ms)) }
}
