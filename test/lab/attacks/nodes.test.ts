import { describe, expect, it } from 'vitest'
import type { ChainAttack } from './chain.ts'
import { SHOWN, SOME } from './model.ts'
import { clearByThree } from './nodes.ts'

const [liquidation] = SOME
/** Another lie than the one: nothing has code. */
const OTHER: ChainAttack = {
  name: 'nothing has code',
  on: (honest) => ({ ...honest, codeHashes: honest.codeHashes.map(() => null) }),
  check: 'code_changed',
}

describe.each(SOME)('three nodes at %s', (_case, kind, ruleset) => {
  it('clear what is honest', async () => {
    expect(await clearByThree(kind, ruleset, ['truth', 'truth', 'truth'])).toBe('cleared')
  })

  it('are not kept from it by one that lies, in whatever way', async () => {
    for (const attack of SHOWN) {
      const check = await clearByThree(kind, ruleset, [attack, 'truth', 'truth'])
      if (check !== null) expect(check, attack.name).toBe('cleared')
    }
  })

  it('are not talked into it by one that hides what the two others show', async () => {
    for (const attack of SHOWN) {
      const check = await clearByThree(kind, ruleset, ['truth', attack, attack])
      if (check !== null) expect(check, attack.name).toBe(attack.check)
    }
  })
})

describe('two nodes of three that lie', () => {
  if (liquidation === undefined) throw new TypeError('a policy is shipped')
  const [, kind, ruleset] = liquidation

  it('get nothing cleared by two lies: no two say the same', async () => {
    for (const attack of SHOWN.filter(({ check }) => check !== 'code_changed')) {
      for (const shows of [
        ['truth', attack, OTHER],
        [attack, OTHER, 'truth'],
      ] as const) {
        expect(await clearByThree(kind, ruleset, shows), attack.name).toBe('nodes_disagree')
      }
    }
  })

  it('are believed in one lie where two are enough, and refused where all three must say the same', async () => {
    for (const attack of SHOWN) {
      // Who lets two of three decide trusts any two of them for what the chain shows; never for what is signed.
      const alone = await clearByThree(kind, ruleset, [attack, 'truth', 'truth'], 3)
      expect(['nodes_disagree', 'node.quorum_missing'], attack.name).toContain(alone)
      expect(await clearByThree(kind, ruleset, [attack, attack, 'truth'], 2), attack.name).toBe(attack.check)
    }
  })
})
