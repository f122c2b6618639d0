import { refuse } from '../../../errors.ts'
import { amountText, time } from '../../../units.ts'
import { asUint } from '../../policy/values.ts'
import { type JudgedCase, type Judgement, marketOf, unread } from '../judgement.ts'
import { claimView } from './views.ts'

/** Judge the settlement of a claim: it is ours, for us, due, and pays what it says. */
export function judgeSettlement({ before: reads, subject }: JudgedCase): Judgement {
  const { input } = subject
  const market = marketOf(subject)
  const claim = reads.ask(claimView(market.address, asUint(input.claimId) ?? 0n))
  return {
    checkState: (timestampS) => {
      const found = claim()
      if (found === null) return unread('the claim')
      if (found.liquidator !== subject.self || found.recipient !== subject.self) {
        return refuse(
          'claim_not_ours',
          `The claim belongs to ${found.liquidator} and pays ${found.recipient}.`,
        )
      }
      if (found.settled) return refuse('claim_settled', 'The claim is settled already.')
      if (found.settleableAtS <= BigInt(timestampS)) return null
      return refuse(
        'claim_not_settleable',
        `The claim can be settled from ${time(found.settleableAtS)} on; the next block is of ${time(timestampS)}.`,
      )
    },
    checkOutcome: ({ changeOf }) => {
      const found = claim()
      if (found === null) return unread('the claim')
      const gained = changeOf(market.collateralAsset)
      if (gained >= found.collateralAssets) return null
      const paid = (assets: bigint) => amountText(assets, market.collateralAsset, subject.deployment)
      return refuse(
        'claim_short',
        `The settlement pays ${paid(gained)}; the claim holds ${paid(found.collateralAssets)}.`,
      )
    },
  }
}
