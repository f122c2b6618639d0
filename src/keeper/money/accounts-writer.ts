import { type AccountsDeps, type AccountsOf, addNextPage } from '../../accounts/next-page.ts'
import { resultsOf } from '../../accounts/results.ts'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Log } from '../../ops/log.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import { createCachedRead } from '../cached-read.ts'
import type { RolePolicy } from '../policy/role-policy.ts'

/** What is final is entered within so long. */
const EVERY_MS = 15_000

/** What accounts count. */
export type AccountsMetrics = Pick<Metrics, 'accounted' | 'accountsForked'>

/** Create the accounts of a live role: its signer's, and those of the vaults or funds that it works for. */
export function createAccountsWriter(
  { worksFor, ...of }: Omit<AccountsOf, 'owner'> & { readonly worksFor: RolePolicy['does']['worksFor'] },
  {
    clock,
    log,
    alarm,
    metrics,
    ...deps
  }: AccountsDeps & {
    readonly clock: Clock
    readonly log: Pick<Log, 'info' | 'warn'>
    readonly alarm: (error: RolekeeperError) => void
    readonly metrics: AccountsMetrics
  },
): {
  /** Enter what is new where that is due, and do not wait for it. */
  readonly begin: () => void
} {
  const { role } = of
  const forked = new Set<string>()
  const add = async (whose: Whose) => {
    const added = await addNextPage({ ...of, ...whose }, deps)
    if (forked.delete(whose.signer))
      log.info('accounts go on where the chain had left them', { role, signer: whose.signer })
    metrics.accountsForked(role, forked.size)
    // None of a vault's or a fund's money is its signer's.
    if (whose.owner !== undefined || added === null) return
    for (const result of resultsOf([added], 'role', new Map())) metrics.accounted(role, result)
  }
  const onFailed = (signer: string) => (error: unknown) => {
    if (!(error instanceof RolekeeperError) || error.code !== 'accounts.forked') {
      log.warn('could not keep accounts', { role, signer }, error)
      return
    }
    forked.add(signer)
    metrics.accountsForked(role, forked.size)
    alarm(error)
  }
  const all = [{ signer: of.signer }, ...workedFor(worksFor, of)].map((whose) =>
    createCachedRead(() => add(whose), {
      clock,
      everyMs: () => EVERY_MS,
      onFailed: onFailed(whose.signer),
    }),
  )
  return {
    begin: () => {
      for (const each of all) each.begin()
    },
  }
}

type Whose = Pick<AccountsOf, 'signer' | 'owner' | 'mover'>

/** List the vaults or funds whose money a role moves: none of it is its signer's. */
function workedFor(
  worksFor: RolePolicy['does']['worksFor'],
  { deployment, signer }: Pick<AccountsOf, 'deployment' | 'signer'>,
): readonly Whose[] {
  if (worksFor === undefined) return []
  const owned = deployment[worksFor].map(({ address }) => address)
  return owned.map((address) =>
    worksFor === 'vaults'
      ? { signer: address, owner: 'vault', mover: signer }
      : { signer: address, owner: 'fund' },
  )
}
