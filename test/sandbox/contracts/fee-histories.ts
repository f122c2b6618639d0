import type { Dice } from '../dice.ts'
import { CHANNEL, type ChannelModel, QUEUE, Refused, type VaultModel } from './fee-model.ts'
import { usd } from './world.ts'

/** Whoever holds shares of a vault or its channel, beside those who are paid fees. */
export const HOLDERS = ['ann', 'ben'] as const
/** Whoever holds shares at all, but for the channel. */
export const OWNERS = [...HOLDERS, 'owner', 'curator', QUEUE] as const

/** One thing that somebody does with a vault or its channel, or that happens to its assets. Amounts are base units. */
export type Act =
  | { readonly kind: 'deposit' | 'withdraw'; readonly who: string; readonly assets: bigint }
  | { readonly kind: 'request'; readonly who: string; readonly shares: bigint }
  | { readonly kind: 'claim' | 'accrue' | 'claimBorrowerFee' }
  | { readonly kind: 'allocate' | 'deallocate' | 'gain' | 'lose'; readonly assets: bigint }
  | { readonly kind: 'setFees'; readonly management: bigint; readonly performance: bigint }
  | { readonly kind: 'setCuratorFee'; readonly borrowerManager: bigint }
  | { readonly kind: 'channelDeposit'; readonly who: string; readonly assets: bigint }
  | { readonly kind: 'channelRedeem' | 'claimFeeShares'; readonly who: string; readonly shares: bigint }
  | { readonly kind: 'channelRequest'; readonly who: string; readonly shares: bigint }
  | {
      readonly kind: 'channelTransfer'
      readonly who: string
      readonly to: string
      readonly shares: bigint
    }
  /** The channel itself stands for everybody. */
  | { readonly kind: 'block'; readonly who: string; readonly blocked: boolean }
export type ActKind = Act['kind']

const KINDS: readonly ActKind[] = [
  ...(['deposit', 'deposit', 'withdraw', 'request', 'claim', 'allocate', 'deallocate'] as const),
  ...(['gain', 'lose', 'setFees', 'setCuratorFee', 'accrue'] as const),
  ...(['channelDeposit', 'channelDeposit', 'channelRedeem', 'claimFeeShares', 'claimBorrowerFee'] as const),
  ...(['channelRequest', 'channelTransfer', 'block'] as const),
]
/** Whom the curator blocks, and to whom channel shares are sent; to the channel itself none can be. */
const NAMED = [...HOLDERS, 'owner', CHANNEL] as const

/** Draw what happens next; often it is refused. */
export function drawAct(dice: Dice, vault: VaultModel, channel: ChannelModel, cash: bigint): Act {
  const kind = dice.pick(KINDS)
  const who = dice.pick(HOLDERS)
  switch (kind) {
    case 'deposit':
    case 'channelDeposit':
      return { kind, who, assets: dice.amount(usd('500000')) }
    case 'withdraw':
      return { kind, who, assets: dice.amount(vault.toAssets(vault.shares.of(who)) + 2n) }
    case 'request':
      return { kind, who, shares: dice.amount(vault.shares.of(who) + 2n) }
    case 'channelRedeem':
    case 'channelRequest': {
      const held = channel.shares.of(who)
      return { kind, who, shares: dice.upTo(3) === 0 ? held : dice.amount(held + 2n) }
    }
    case 'channelTransfer':
      return { kind, who, to: dice.pick(NAMED), shares: dice.amount(channel.shares.of(who) + 2n) }
    case 'block':
      return { kind, who: dice.pick(NAMED), blocked: dice.upTo(2) === 0 }
    case 'claimFeeShares':
      return { kind, who, shares: dice.amount(channel.feeShares() + 2n) }
    case 'allocate':
      return { kind, assets: dice.amount(vault.state.idle + 2n) }
    case 'deallocate':
      return { kind, assets: dice.amount(cash + 2n) }
    case 'gain':
      return { kind, assets: dice.amount(usd('100000')) }
    case 'lose':
      return { kind, assets: dice.amount(vault.state.idle / 2n) }
    case 'setFees':
      return { kind, management: BigInt(dice.upTo(501)), performance: BigInt(dice.upTo(3_001)) }
    case 'setCuratorFee':
      return { kind, borrowerManager: BigInt(dice.upTo(2_001)) }
    case 'claim':
    case 'accrue':
    case 'claimBorrowerFee':
      return { kind }
  }
}

/** Do it to the models; throws `Refused` where the contracts revert. Returns what was paid out of the vault, base units. */
export function performOnModel(act: Act, vault: VaultModel, channel: ChannelModel, cash: bigint): bigint {
  switch (act.kind) {
    case 'deposit':
      vault.deposit(act.who, act.assets)
      return -act.assets
    case 'withdraw':
      vault.withdraw(act.who, act.assets)
      return act.assets
    case 'request':
      vault.request(act.who, act.shares)
      return 0n
    case 'claim':
      return vault.claim().assets
    case 'accrue':
      vault.accrue()
      return 0n
    case 'allocate':
      vault.allocate(act.assets)
      return 0n
    case 'deallocate':
      vault.deallocate(act.assets, cash)
      return 0n
    case 'gain':
      vault.state.idle += act.assets
      return -act.assets
    case 'lose':
      if (act.assets > vault.state.idle) throw new Refused('idle')
      vault.state.idle -= act.assets
      return act.assets
    case 'setFees':
      vault.setFees(act.management, act.performance)
      return 0n
    case 'setCuratorFee':
      vault.setCuratorFee(act.borrowerManager)
      return 0n
    case 'channelDeposit':
      channel.deposit(act.who, act.assets)
      return -act.assets
    case 'channelRedeem':
      return channel.redeem(act.who, act.shares)
    case 'channelRequest':
      channel.request(act.who, act.shares)
      return 0n
    case 'channelTransfer':
      channel.transfer(act.who, act.to, act.shares)
      return 0n
    case 'block':
      channel.setBlocked(act.who, act.blocked)
      return 0n
    case 'claimFeeShares':
      channel.claimFeeShares(act.shares, act.who)
      return 0n
    case 'claimBorrowerFee':
      return channel.claimBorrowerFee()
  }
}
