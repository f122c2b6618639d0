import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, formatEther, type PublicClient } from 'viem'
import type { RunConfig } from '../../../src/config/config.ts'
import { loadRolePolicy, positionOf } from '../../../src/keeper/policy/role-policy.ts'

const HOUR_S = 3_600n

/** Have each role's policy allow so much gas in an hour, for example `0.05 ETH`, and no more in a workflow. */
export const withGasHour = (config: RunConfig, gasMax: string): RunConfig => ({
  ...config,
  agents: config.agents.map((agent) => {
    const policy = join(config.directory, `${agent.role}-of-the-day.yaml`)
    writeFileSync(
      policy,
      JSON.stringify({ include: agent.policy, limits: { perWorkflow: { gasMax }, perHour: { gasMax } } }),
    )
    return { ...agent, policy }
  }),
})

/** What a signer paid in its dearest hour of the chain's time, beside what its policy allows; wei. */
type Hour = { readonly paidWei: bigint; readonly limitWei: bigint }

/** What a balance fell by until a look; negative where it rose. */
type Fall = { readonly atS: bigint; readonly wei: bigint }

/** Follow what signers pay by their balances alone: no transaction of ours has a value, so what one falls by was paid. */
export function createGasAudit() {
  const falls = new Map<string, Fall[]>()
  const last = new Map<Address, bigint>()
  return {
    /** Read all balances at one block: an older one the chain may have forgotten. */
    look: async ({ agents }: RunConfig, chain: PublicClient): Promise<void> => {
      const { number: blockNumber, timestamp: atS } = await chain.getBlock()
      for (const { role, signer } of agents) {
        const { address } = signer
        const wei = await chain.getBalance({ address, blockNumber })
        falls.set(role, [...(falls.get(role) ?? []), { atS, wei: (last.get(address) ?? wei) - wei }])
        last.set(address, wei)
      }
    },
    hours: (config: RunConfig): Readonly<Record<string, Hour>> =>
      Object.fromEntries(
        config.agents.map((agent) => {
          const { limits } = loadRolePolicy(positionOf(agent), config).ruleset
          const paidWei = dearest(falls.get(agent.role) ?? [])
          return [agent.role, { paidWei, limitWei: limits.perHour.gasWeiMax }]
        }),
      ),
    /** Signers whose balance rose: what they paid is not known. */
    raised: (): readonly string[] =>
      [...falls].flatMap(([role, own]) =>
        own.some(({ wei }) => wei < 0n) ? [`the balance of the ${role}'s signer rose`] : [],
      ),
  }
}

/** The most that fell in an hour. Pure. */
function dearest(falls: readonly Fall[]): bigint {
  let [first, sum, most] = [0, 0n, 0n]
  for (const fall of falls) {
    sum += fall.wei
    for (let old = falls[first]; old !== undefined && old.atS <= fall.atS - HOUR_S; old = falls[first]) {
      sum -= old.wei
      first += 1
    }
    if (sum > most) most = sum
  }
  return most
}

/** Write an hour for people. Pure. */
export const hourText = ({ paidWei, limitWei }: Hour): string =>
  `${formatEther(paidWei)} of ${formatEther(limitWei)} ETH`

/** What one hour cost more than it may. Pure. */
export const overspent = (hours: Readonly<Record<string, Hour>>): readonly string[] =>
  Object.entries(hours).flatMap(([role, hour]) =>
    hour.paidWei > hour.limitWei ? [`in its dearest hour the ${role} paid ${hourText(hour)}`] : [],
  )
