import { HEALTHY_ORACLE_STATE } from '../../../src/service/contract/assumptions.ts'
import type { VaultResource } from '../../../src/service/contract/vault-resources.ts'
import type { Moment, Stop } from '../../agent.ts'
import { BPS } from '../../protocol/health.ts'
import { ORACLE_HEALTHY } from '../../protocol/lending-views.ts'
import { percent } from '../../protocol/text.ts'
import type { ManagerSeen, PricedMarket } from '../seen.ts'
import type { DeclaredMobility } from './declared.ts'

type Rule = NonNullable<DeclaredMobility['emergencyPause']>

/** What is wrong with the markets that a vault lends to, each in a few words; empty when nothing is. */
type Trouble = { readonly problems: readonly string[] }

/**
 * Judge whether a vault's shares should stand still: a market that it lends to has an oracle in trouble or more bad debt
 * than the rule allows, by our own reading. Pure. An oracle is in trouble when the service says so and our own reading
 * does too; where only one of them does, or a figure is missing, nothing is done and it is said.
 */
export function judgeTrouble(
  { allocations }: VaultResource,
  seen: Moment & ManagerSeen,
  rule: Rule,
): Trouble | Stop {
  if (allocations == null) {
    return { check: 'allocations_unknown', message: 'The service does not say which markets it lends to.' }
  }
  const problems: string[] = []
  let unknown: Stop | null = null
  for (const { marketAddress, allocatedAssets } of allocations) {
    // What is not known to be nothing is something.
    if (allocatedAssets === '0') continue
    const market = seen.markets.find(({ row }) => row.address === marketAddress)
    const found = market === undefined ? missing(marketAddress) : troubleOf(market, rule)
    if (found === null) continue
    if (typeof found === 'string') problems.push(found)
    else unknown ??= found
  }
  // One that is known for certain is enough.
  return problems.length > 0 || unknown === null ? { problems } : unknown
}

const missing = (market: string): Stop => ({
  check: 'market_unknown',
  message: `The service lists no market ${market}.`,
})

function troubleOf({ row, oracle, books }: PricedMarket, rule: Rule): string | Stop | null {
  const { address, oracleState } = row
  if (books === null) {
    return { check: 'bad_debt_unknown', message: `Our reads of the bad debt of ${address} failed.` }
  }
  const { badDebtAssets: badDebt, suppliedAssets: supplied } = books
  if (badDebt * BPS > supplied * BigInt(rule.badDebtBpsMax)) {
    const share = supplied === 0n ? 'all' : percent((badDebt * BPS) / supplied)
    return `bad debt of ${address} is ${share} of what is supplied; the rule allows ${percent(BigInt(rule.badDebtBpsMax))}`
  }
  const isWell = oracleState === HEALTHY_ORACLE_STATE
  if (oracle === null) {
    return isWell
      ? null
      : { check: 'oracle_not_read', message: `Our read of the oracle of ${address} failed.` }
  }
  if (isWell === (oracle.state === ORACLE_HEALTHY)) {
    return isWell ? null : `the oracle of ${address} is ${oracleState}`
  }
  const message = `The service says that the oracle of ${address} is ${oracleState}; our own reading is state ${oracle.state}.`
  return { check: 'oracle_disputed', message }
}
