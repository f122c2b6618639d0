import { PREPARED } from '../../guard/shipped.ts'
import { CHAIN_ATTACKS, type ChainAttack, clearBy } from './chain.ts'
import type { Deed } from './deeds.ts'
import { LANGUAGE_ATTACKS, playCall } from './language.ts'
import { LATER_ATTACKS, MOMENTS, playAt } from './later.ts'
import { clearByThree } from './nodes.ts'

/** What a simulation can show: heads are agreed on before, and errors are our own. */
export const SHOWN: readonly ChainAttack[] = CHAIN_ATTACKS.filter(
  ({ name, check }) =>
    !['head_stale', 'clock_behind', 'snapshot_behind', 'node_behind', 'nodes_disagree'].includes(check) &&
    !['insufficient_native', 'fee_below_base_fee'].includes(check) &&
    name !== 'the last call is not shown at all',
)
/** One kind of each role, and one that creates a contract. */
export const SOME = PREPARED.filter(([, { name }]) =>
  ['liquidate', 'reallocate', 'report', 'acquire', 'deploy', 'rfq-place'].includes(name),
)

/** What refused it of each kind that it fits; what was let through is null. */
const ofEach = async (
  cases: typeof PREPARED,
  play: (one: (typeof PREPARED)[number]) => Promise<string | null>,
): Promise<readonly (string | null)[]> => {
  const checks: (string | null)[] = []
  for (const one of cases) {
    const check = await play(one)
    if (check !== null) checks.push(check === 'ok' || check === 'cleared' ? null : check)
  }
  return checks
}

const WHEN = { cleared: 'at clearing', signed: 'before the signature', raised: 'before a raise' } as const

/** What calls, contracts and nodes do against the rules of a model, and one hostile node of three. */
export const MODEL_DEEDS: readonly Deed[] = [
  ...LANGUAGE_ATTACKS.map((attack) => ({
    ...attack,
    name: `language: ${attack.name}`,
    play: async () => {
      const check = playCall(attack)
      return [check === 'accepted' ? null : check]
    },
  })),
  ...CHAIN_ATTACKS.map((attack) => ({
    ...attack,
    name: `chain: ${attack.name}`,
    play: () => ofEach(PREPARED, ([, kind, rules]) => clearBy(kind, rules, attack)),
  })),
  ...MOMENTS.flatMap((moment) =>
    LATER_ATTACKS.map((attack) => ({
      ...attack,
      name: `${WHEN[moment]}: ${attack.name}`,
      play: () => ofEach(PREPARED, ([, kind, rules]) => playAt(moment, kind, rules, attack)),
    })),
  ),
  ...SHOWN.map((attack) => ({
    ...attack,
    name: `one node of three hides: ${attack.name}`,
    play: () => ofEach(SOME, ([, kind, rules]) => clearByThree(kind, rules, ['truth', attack, attack])),
  })),
]
