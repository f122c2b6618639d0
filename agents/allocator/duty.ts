import { inputText } from '../../src/workflow/proposal.ts'
import type { Decision, InFlight, Moment } from '../agent.ts'
import { type Due, whyDue } from '../protocol/due.ts'
import { ceilDiv, tokenUnit } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { judgeVault, type OpenVault } from './judge-vault.ts'
import type { AllocatorPolicy } from './policy.ts'
import type { AllocatorSeen, VaultLook } from './seen.ts'

type Seen = Moment & AllocatorSeen

/** A vault that cannot be judged for minutes: markets may turn bad, and requests come due, unseen. */
const VAULT_GRACE_MS = 120_000
/** The buffer serves who leaves at once; who finds it low waits, and the next wave of them may come within the hour. */
const BUFFER_GRACE_MS = 1_800_000
/** Requests without a lead are funded when they are due: within a few blocks. */
const REDEMPTION_GRACE_MS_MIN = 30_000

/** Vaults that the policy does not want moved, or in which there is nothing. */
const CHOSEN: ReadonlySet<string> = new Set(['asset_not_allowed', 'vault_empty', 'no_markets'])

/** What the allocator owes each vault: to judge it, and to have idle what redemptions and the buffer need. Pure. */
export const due = (seen: Seen, decision: Decision, policy: AllocatorPolicy): readonly Due[] =>
  seen.vaults.flatMap((look) => {
    const subject = look.address
    const why = (otherwise: string) => {
      const isAbout = ({ input }: Pick<InFlight, 'input'>) => inputText(input, 'vaultAddress') === subject
      return whyDue({ ...seen, passedOver: decision.passedOver }, isAbout, [subject], otherwise)
    }
    const vault = judgeVault(look, seen, policy)
    if ('check' in vault) {
      const { check, message } = vault
      const place = {
        what: 'vault to judge',
        subject,
        sinceMs: null,
        graceMs: VAULT_GRACE_MS,
        check,
        message,
      }
      return [{ ...place, ...(CHOSEN.has(check) ? { chosen: true } : {}) }]
    }
    return [...redemptions(look, vault, seen, policy, why), ...buffer(vault, why)]
  })

type Why = (otherwise: string) => Pick<Due, 'check' | 'message'>

const worth = (
  { decimals, symbol, priceUsdMicros }: OpenVault,
  assets: bigint,
): Pick<Due, 'amount' | 'usdMicros'> => ({
  amount: tokens(assets, decimals, symbol),
  usdMicros: (assets * priceUsdMicros) / tokenUnit(decimals),
})

/** The first request that what is idle does not pay: half of the lead may go by before it is late. */
function redemptions(
  { address: subject }: VaultLook,
  vault: OpenVault,
  { chain }: Seen,
  { redemptions: { leadS } }: AllocatorPolicy,
  why: Why,
): readonly Due[] {
  const { totalAssets, totalShares, idleAssets, requests } = vault.books
  let shares = 0n
  const first = (requests ?? []).find((request) => {
    shares += request.shares
    return ceilDiv(shares * totalAssets, totalShares) > idleAssets
  })
  if (first === undefined) return []
  const short = ceilDiv(shares * totalAssets, totalShares) - idleAssets
  const sinceS = first.dueAtS - leadS
  const message = `What is idle does not pay the request that falls due at ${new Date(first.dueAtS * 1_000).toISOString()}.`
  return [
    {
      what: 'redemption',
      subject,
      ...worth(vault, short),
      sinceMs: sinceS * 1_000,
      untilMs: first.dueAtS * 1_000,
      graceMs: Math.max(REDEMPTION_GRACE_MS_MIN, leadS * 500),
      ...(sinceS > chain.timestampS ? { message } : why(message)),
    },
  ]
}

/** What the buffer lacks where the policy wants it refilled, beside what redemptions need. */
function buffer(vault: OpenVault, why: Why): readonly Due[] {
  const short = vault.obligedAssets - vault.books.idleAssets
  if (short <= 0n || vault.obligedAssets === vault.dueAssets) return []
  const place = { what: 'buffer', subject: vault.look.address, sinceMs: null, graceMs: BUFFER_GRACE_MS }
  return [{ ...place, ...worth(vault, short), ...why('Its refill was proposed just now.') }]
}
