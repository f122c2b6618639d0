import { z } from 'zod'
import { nearest } from '../../config/check.ts'
import type { Weakness } from '../../guard/policy/lints.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { percent } from '../../units.ts'

/** What of a strategy declares vaults; what others declare is theirs. */
const declaring = z.object({
  declared: z.object({
    vaults: z.array(z.object({ symbol: z.string() })),
    mobility: z.array(z.object({ vault: z.string() })),
    vaultSettings: z.array(
      z.object({
        vault: z.string(),
        fees: z.object({ managementFeeBps: z.number(), performanceFeeBps: z.number() }).optional(),
        borrowerManagerFee: z.object({ feeBps: z.number() }).optional(),
      }),
    ),
  }),
})
type Declaring = z.output<typeof declaring>['declared']

const raising = z.object({
  ownership: z.object({
    managementFeeRaiseBpsMax: z.bigint(),
    performanceFeeRaiseBpsMax: z.bigint(),
    borrowerManagerFeeRaiseBpsMax: z.bigint(),
  }),
})

/** Find what is declared of no vault, and fees that the guard lets nobody set at once. Pure. */
export function declaredLints(
  strategy: unknown,
  sanity: unknown,
  { vaults }: Pick<Deployment, 'vaults'>,
): readonly Weakness[] {
  const { data } = declaring.safeParse(strategy)
  if (data === undefined) return []
  return [...unknownVaults(data.declared, vaults), ...steepFees(data.declared, sanity)]
}

/** A vault is known by its name in the deployment, or by the symbol of one that is declared: it is pinned under that. */
function unknownVaults(declared: Declaring, pinned: Deployment['vaults']): readonly Weakness[] {
  const known = [
    ...new Set([...pinned.flatMap(({ name }) => name ?? []), ...declared.vaults.map(({ symbol }) => symbol)]),
  ]
  return (['mobility', 'vaultSettings'] as const).flatMap((list) =>
    declared[list].flatMap(({ vault }, index) => {
      if (known.includes(vault)) return []
      return [
        {
          path: ['strategy', 'declared', list, index, 'vault'],
          problem: `strategy.declared.${list}.${index}.vault is ${vault}, which neither deployment.vaults nor strategy.declared.vaults has: nothing of it is ever applied`,
          fix: `write ${nearest(vault, known) ?? 'one that is there'}, or give its entry in deployment.vaults that name; there are ${known.join(', ')}`,
        },
      ]
    }),
  )
}

/** A fee above one step is asked for as a whole and refused, unless the vault is within a step of it already. */
function steepFees({ vaultSettings }: Declaring, sanity: unknown): readonly Weakness[] {
  const { data } = raising.safeParse(sanity)
  if (data === undefined) return []
  const { ownership: step } = data
  return vaultSettings.flatMap(({ vault, fees, borrowerManagerFee }, index) => {
    const stated = [
      ['fees.managementFee', fees?.managementFeeBps, 'managementFeeRaise', step.managementFeeRaiseBpsMax],
      ['fees.performanceFee', fees?.performanceFeeBps, 'performanceFeeRaise', step.performanceFeeRaiseBpsMax],
      [
        'borrowerManagerFee.fee',
        borrowerManagerFee?.feeBps,
        'borrowerManagerFeeRaise',
        step.borrowerManagerFeeRaiseBpsMax,
      ],
    ] as const
    return stated.flatMap(([name, feeBps = 0, limit, stepBps]) => {
      if (BigInt(feeBps) <= stepBps) return []
      const from = percent(BigInt(feeBps) - stepBps)
      return [
        {
          path: ['strategy', 'declared', 'vaultSettings', index, ...name.split('.')],
          problem: `strategy.declared.vaultSettings.${index}.${name} is ${percent(BigInt(feeBps))}, and guard.sanity.ownership.${limit}Max ${percent(stepBps)}: while ${vault} takes less than ${from}, the guard refuses to raise it so far at once`,
          fix: `declare at most ${percent(stepBps)} more than it takes now, and the next step by hand once that is approved and there`,
        },
      ]
    })
  })
}
