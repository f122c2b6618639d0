import { type Address, zeroAddress } from 'viem'
import { type Refusal, refuse } from '../../../errors.ts'
import { time } from '../../../units.ts'
import { account, type Compared, type JudgedCase, unread, vaultOf } from '../judgement.ts'
import { offerView, type VaultSetup } from '../vault-views.ts'
import { askRoles } from './rights.ts'

/** What is asked beside a vault's setup: which of it may differ afterwards, and how. */
type Beside = {
  readonly checkState?: (setup: VaultSetup) => Refusal | null
  readonly checkOutcome: () => Refusal | null
}

/** One act of an owner. */
export type Act = {
  /** Who may do it; the owner where it is not said. */
  readonly may?: (setup: VaultSetup, timestampS: number) => Refusal | null
  readonly check: (setup: VaultSetup) => Refusal | null
  /** What of the setup it changes, and into what. */
  readonly change: (setup: VaultSetup) => Partial<VaultSetup>
  readonly beside?: Beside
  /** What of the vault it sets beside what is there; null where that is not known. */
  readonly compare: (setup: VaultSetup) => Compared['fields'] | null
}

/** A vault's passage to another owner, in two steps, and how it is called off. */
export function transferAct(about: JudgedCase): Act {
  const { self, input } = about.subject
  const roles = askRoles(about, vaultOf(about), null)
  const offer = about.before.ask(offerView(vaultOf(about)))
  const newOwner = account(about, 'newOwnerAddress')
  switch (input.action) {
    case 'accept':
      return {
        may: ({ offeredTo }, timestampS) => checkOffered(offeredTo, self, offer, timestampS),
        check: () => null,
        change: () => ({ owner: self, offeredTo: zeroAddress }),
        beside: roles,
        compare: ({ owner, offeredTo }) => [
          { name: 'owner', was: owner, wanted: self },
          { name: 'offeredTo', was: offeredTo, wanted: zeroAddress },
        ],
      }
    case 'cancel':
      return {
        check: ({ offeredTo }) =>
          offeredTo === zeroAddress
            ? refuse('ownership_not_offered', 'The vault is offered to nobody.')
            : null,
        change: () => ({ offeredTo: zeroAddress }),
        beside: roles,
        compare: ({ owner, offeredTo }) => [
          { name: 'owner', was: owner, wanted: owner },
          { name: 'offeredTo', was: offeredTo, wanted: zeroAddress },
        ],
      }
    default:
      return {
        check: ({ owner, offeredTo }) => {
          if (newOwner === zeroAddress || newOwner === owner)
            return refuse('new_owner_refused', `The vault would be offered to ${newOwner}.`)
          if (offeredTo === zeroAddress) return null
          return refuse(
            'ownership_offered_already',
            `The vault is offered to ${offeredTo}; cancel that first.`,
          )
        },
        change: () => ({ offeredTo: newOwner }),
        beside: roles,
        compare: ({ owner, offeredTo }) => [
          { name: 'owner once it accepts', was: owner, wanted: newOwner },
          { name: 'offeredTo', was: offeredTo, wanted: newOwner },
        ],
      }
  }
}

function checkOffered(
  offeredTo: Address,
  self: Address,
  offer: () => { readonly fromS: bigint } | null,
  timestampS: number,
): Refusal | null {
  if (offeredTo !== self) {
    return refuse('ownership_not_offered', `The vault is offered to ${offeredTo}, and not to us.`)
  }
  const found = offer()
  if (found === null) return unread('since when the vault is offered')
  if (found.fromS < BigInt(timestampS)) return null
  return refuse('ownership_not_due', `It can be accepted after ${time(found.fromS)}.`)
}
