import { type AccountsDeps, addNextPage } from '../accounts/next-page.ts'
import { resultsOf } from '../accounts/results.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../ops/log.ts'
import type { Metrics } from '../ops/metrics.ts'
import { createRenewed } from './renewed.ts'
import type { RolePolicy } from './role-policy.ts'
import { pricesOf } from './shadow-scores.ts'

/** What is final is entered within so long. */
const EVERY_MS = 15_000

/** Create the accounts of a live role: its signer's, and those of the vaults or funds that it works for. */
export function createKeptAccounts(
  { agent, does, policy, ruleset }: Pick<RolePolicy, 'agent' | 'does' | 'policy' | 'ruleset'>,
  {
    clock,
    log,
    onAccounted,
    ...deps
  }: AccountsDeps & {
    readonly clock: Clock
    readonly log: Log
    readonly onAccounted: Metrics['accounted']
  },
): {
  /** Enter what is new where that is due, and do not wait for it. */
  readonly begin: () => void
} {
  const { role } = agent
  const of = { role, ...pricesOf({ policy, ruleset }) }
  const addOwn = async () => {
    const added = await addNextPage({ ...of, signer: agent.signer.address }, deps)
    for (const result of added === null ? [] : resultsOf([added], 'role', new Map()))
      onAccounted(role, result)
  }
  const others = workedFor(does, ruleset).map((whose) => ({
    signer: whose.signer,
    add: () => addNextPage({ ...of, ...whose }, deps),
  }))
  const all = [{ signer: agent.signer.address, add: addOwn }, ...others].map(({ signer, add }) =>
    createRenewed<unknown>(add, {
      ...{ clock, everyMs: () => EVERY_MS },
      onFailed: (error) => log.warn('could not keep accounts', { role, signer }, error),
    }),
  )
  return {
    begin: () => {
      for (const each of all) each.begin()
    },
  }
}

/** List the vaults or funds whose money a role moves: none of it is its signer's. */
const workedFor = (
  { worksFor }: Pick<RolePolicy['does'], 'worksFor'>,
  { deployment }: Pick<RolePolicy['ruleset'], 'deployment'>,
) =>
  worksFor === undefined
    ? []
    : deployment[worksFor].map(({ address }) => ({
        signer: address,
        owner: worksFor === 'vaults' ? ('vault' as const) : ('fund' as const),
      }))
