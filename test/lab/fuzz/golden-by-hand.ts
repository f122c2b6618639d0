import { type Address, encodeDeployData, erc20Abi, keccak256, stringToHex } from 'viem'
import { lendingVaultAbi, partnerChannelAbi } from '../../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import { LOAN, SELF, VAULT } from '../../guard/fixtures.ts'
import type { Expected } from '../../guard/kind.ts'
import { CHANNEL, OTHER_SIGNER, REGISTRY } from '../../guard/kinds-by-hand.ts'
import type { Dice } from '../judgement/dice.ts'
import { chance, pickFrom, whole } from './dice.ts'
import {
  anybody,
  approve,
  asInput,
  call,
  dollars,
  id,
  joined,
  later,
  least,
  market,
  move,
  symbol,
  type Valid,
  words,
} from './valid.ts'

type Make = (dice: Dice) => Valid

/** From 0 to what the shipped policy permits, both of them often. */
const upTo = (dice: Dice, most: number): number => pickFrom(dice, [0, 1, most, whole(dice, most + 1)])
/** One whole asset has six decimals, and one whole share six more. */
const shares = (dice: Dice): bigint => dollars(dice) * 1_000_000n
const ours = (dice: Dice): Address => pickFrom(dice, [SELF, OTHER_SIGNER])
const roleHash = (role: string) => keccak256(stringToHex(`${role.toUpperCase()}_ROLE`))

const onVault = (
  input: Valid['input'],
  functionName: string,
  args: readonly unknown[],
  expected: readonly Expected[],
): Valid => ({
  input: { vaultAddress: VAULT, ...input },
  calls: [call(VAULT, lendingVaultAbi, functionName, args)],
  expected,
})
const allocation = (marketAddress: Address, field: string): Expected => [
  'vault_allocation',
  joined(VAULT, marketAddress),
  [field, least(9)],
]

const listing: Make = (dice) => {
  const [at, enabled, part] = [market(dice), chance(dice, 0.5), upTo(dice, 9_000)]
  const cap = pickFrom(dice, [0n, 10n ** 14n, dollars(dice)])
  return onVault(
    {
      marketAddress: at,
      absoluteCapAssets: String(cap),
      relativeCapBps: part,
      allocationEnabled: enabled,
    },
    'setListing',
    [at, { approved: true, allocationEnabled: enabled, relativeCapBps: part, absoluteCapAssets: cap }],
    [
      [
        ...(['vault_listing', joined(VAULT, at)] as const),
        ['approved', true],
        ['allocationEnabled', enabled],
        ['absoluteCapAssets', String(cap)],
        ['relativeCapBps', String(part)],
      ],
    ],
  )
}

const moved =
  (functionName: 'allocate' | 'deallocate', field: string): Make =>
  (dice) => {
    const one = move(dice)
    return onVault(asInput(one), functionName, [one.market, one.assets], [allocation(one.market, field)])
  }

const batch: Make = (dice) => {
  const moves = (most: number) => Array.from({ length: 1 + whole(dice, most) }, () => move(dice))
  const [withdrawals, supplies] = [moves(8), moves(8)]
  return onVault(
    { withdrawals: withdrawals.map(asInput), supplies: supplies.map(asInput) },
    'reallocate',
    [withdrawals, supplies],
    [
      ...withdrawals.map((each) => allocation(each.market, 'recalledAssetsTotal')),
      ...supplies.map((each) => allocation(each.market, 'suppliedAssetsTotal')),
    ],
  )
}

const granting =
  (role: 'allocator' | 'manager' | 'curator', granted: boolean): Make =>
  (dice) => {
    // A right is given to signers of ours alone, and taken from anybody.
    const account = granted ? ours(dice) : anybody(dice)
    const named = role === 'allocator' ? { allocatorAddress: account } : { role, accountAddress: account }
    return onVault(
      { ...named, granted },
      granted ? 'grantRole' : 'revokeRole',
      [roleHash(role), account],
      [['vault_role', joined(VAULT, role, account), ['granted', granted]]],
    )
  }

const fees: Make = (dice) => {
  const [management, performance, recipient] = [upTo(dice, 200), upTo(dice, 2_000), ours(dice)]
  return onVault(
    { managementFeeBps: management, performanceFeeBps: performance, recipientAddress: recipient },
    'setFeeConfig',
    [management, performance, recipient],
    [
      [
        ...(['vault_fee_config', joined(VAULT)] as const),
        ['managementFeeBps', String(management)],
        ['performanceFeeBps', String(performance)],
        ['recipientAddress', recipient],
      ],
    ],
  )
}

const curatorFee: Make = (dice) => {
  const [part, recipient] = [upTo(dice, 1_000), ours(dice)]
  return onVault(
    { borrowerManagerFeeBps: part, recipientAddress: recipient },
    'setCuratorFee',
    [part, recipient],
    [
      [
        ...(['vault_fee_config', joined(VAULT)] as const),
        ['borrowerManagerFeeBps', String(part)],
        ['curatorRecipientAddress', recipient],
      ],
    ],
  )
}

const routing: Make = (dice) => {
  const markets = Array.from({ length: whole(dice, 17) }, () => market(dice))
  return onVault(
    { marketAddresses: markets },
    'setRouting',
    [markets],
    [['vault_routing', joined(VAULT), ['marketAddresses', markets.join(',')]]],
  )
}

const KINDS_OF_EXIT = ['instant', 'notice', 'interval', 'maturity'] as const
const settings: Make = (dice) => {
  const [buffer, kind, maturity, most] = [upTo(dice, 5_000), whole(dice, 4), later(dice), id(dice)]
  const [notice, interval] = [upTo(dice, 2_592_000), upTo(dice, 2_592_000)].map(BigInt)
  const lowest = pickFrom(dice, [0n, 10n ** 12n, dollars(dice)])
  const exitTerms = { kind, noticeSeconds: notice, intervalSeconds: interval, maturityTimestamp: maturity }
  const input = {
    liquidityBufferBps: buffer,
    exitTermKind: KINDS_OF_EXIT[kind] ?? '',
    noticeSeconds: String(notice),
    intervalSeconds: String(interval),
    maturityTimestamp: String(maturity),
    minDepositAssets: String(lowest),
    maxDepositAssets: String(most),
  }
  const fields = Object.entries(input).map(([field, value]) => [field, String(value)] as const)
  return onVault(
    input,
    'setSettings',
    [buffer, exitTerms, lowest, most],
    [['vault_settings', joined(VAULT), ...fields]],
  )
}

const passing =
  (action: 'offer' | 'accept' | 'cancel'): Make =>
  (dice) => {
    const newOwner = ours(dice)
    const acts = {
      offer: [
        { newOwnerAddress: newOwner },
        'beginDefaultAdminTransfer',
        [newOwner],
        ['pendingOwnerAddress', newOwner],
      ],
      accept: [{}, 'acceptDefaultAdminTransfer', [], ['ownerAddress', SELF]],
      cancel: [{}, 'cancelDefaultAdminTransfer', [], ['pendingOwnerAddress', '']],
    } as const
    const [more, functionName, args, field] = acts[action]
    const none: readonly (readonly [string, unknown])[] =
      action === 'accept' ? [['pendingOwnerAddress', '']] : []
    return onVault({ action, ...more }, functionName, args, [['vault_owner', joined(VAULT), field, ...none]])
  }

const channel =
  (resellerOf: (dice: Dice) => Address): Make =>
  (dice) => {
    const [reseller, curator] = [resellerOf(dice), ours(dice)]
    const texts = { name: words(dice), symbol: symbol(dice), shareClass: words(dice) }
    const rates = { resellerFeeBps: upTo(dice, 200), borrowerFeeBps: upTo(dice, 1_000) }
    const cap = pickFrom(dice, [1n, 10n ** 13n, 1n + dollars(dice)])
    const setup = { ...texts, ...rates, vault: VAULT, directory: REGISTRY, reseller, curator, capAssets: cap }
    return {
      input: {
        ...texts,
        ...rates,
        vaultAddress: VAULT,
        assetAddress: LOAN,
        capAssets: String(cap),
        resellerAddress: reseller,
        curatorAddress: curator,
      },
      calls: [
        {
          target: null,
          calldata: encodeDeployData({
            abi: partnerChannelAbi,
            bytecode: loadArtifacts().PartnerChannel.bytecode,
            args: [setup],
          }),
        },
      ],
      expected: [
        ['partner_channel_deployment', joined(VAULT, reseller, texts.shareClass), ['count', least(1)]],
      ],
    }
  }

const onChannel = (
  input: Valid['input'],
  functionName: string,
  args: readonly unknown[],
  expected: Expected,
): Valid => ({ input, calls: [call(CHANNEL, partnerChannelAbi, functionName, args)], expected: [expected] })
const held = (field: unknown): Expected => ['wrapper_position', joined(CHANNEL, SELF), ['shares', field]]

const deposit: Make = (dice) => {
  const [assets, minShares] = [1n + dollars(dice), 1n + shares(dice)]
  const { input, calls, ...rest } = onChannel(
    {
      wrapperAddress: CHANNEL,
      assets: String(assets),
      receiverAddress: SELF,
      minShares: String(minShares),
    },
    'depositNow',
    [assets, SELF, minShares],
    held(least(9)),
  )
  return { input, calls: [approve(CHANNEL, assets), ...calls], ...rest }
}

const redeem: Make = (dice) => {
  const [amount, minAssets] = [1n + shares(dice), 1n + dollars(dice)]
  return onChannel(
    {
      wrapperAddress: CHANNEL,
      shares: String(amount),
      receiverAddress: SELF,
      minAssets: String(minAssets),
    },
    'redeemNow',
    [amount, SELF, minAssets],
    held({ op: 'lte', value: '9' }),
  )
}

const feeShares: Make = (dice) => {
  const amount = 1n + shares(dice)
  return onChannel(
    { channelAddress: CHANNEL, shares: String(amount), recipientAddress: SELF },
    'claimFeeShares',
    [amount, SELF],
    ['partner_fee_shares', joined(CHANNEL), ['claimedShares', least(9)]],
  )
}

const borrowerFee: Make = (dice) => {
  const minAssets = 1n + dollars(dice)
  return onChannel(
    { channelAddress: CHANNEL, recipientAddress: SELF, minAssets: String(minAssets) },
    'claimBorrowerFee',
    [SELF, minAssets],
    ['partner_borrower_fee', joined(CHANNEL), ['claimedAssets', least(9)]],
  )
}

const block: Make = (dice) => {
  const [account, blocked] = [pickFrom(dice, [anybody(dice), CHANNEL]), chance(dice, 0.5)]
  return onChannel(
    { channelAddress: CHANNEL, accountAddress: account, blocked },
    'setBlocked',
    [account, blocked],
    ['channel_block', joined(CHANNEL, account), ['blocked', blocked]],
  )
}

const fewer = (wallet: Address): Expected => [
  'vault_position',
  joined(VAULT, wallet),
  ['shares', { op: 'lte', value: '9' }],
]

const requestRedeem: Make = (dice) => {
  const amount = 1n + shares(dice)
  return onVault(
    { shares: String(amount), receiverAddress: SELF },
    'requestWithdrawal',
    [amount, SELF],
    [fewer(SELF)],
  )
}

const fulfillRedeem: Make = (dice) => {
  const requestId = id(dice)
  return onVault(
    { requestId: String(requestId) },
    'claimWithdrawal',
    [requestId],
    [['redemption_request', joined(VAULT, requestId), ['status', 'paid']]],
  )
}

const transferShares: Make = (dice) => {
  const amount = 1n + shares(dice)
  return {
    input: {
      vaultAddress: VAULT,
      action: 'transfer',
      recipientAddress: OTHER_SIGNER,
      shares: String(amount),
    },
    calls: [call(VAULT, erc20Abi, 'transfer', [OTHER_SIGNER, amount])],
    expected: [fewer(SELF), ['vault_position', joined(VAULT, OTHER_SIGNER), ['shares', least(9)]]],
  }
}

const restoreShares: Make = () =>
  onVault(
    { action: 'restore' },
    'restoreShareMobility',
    [],
    [['vault_share_mobility', joined(VAULT), ['shareMobilityPaused', false], ['mobilityEpoch', least(4)]]],
  )

/** Valid workflows of each kind that people submit, within what the shipped policies permit. */
export const BY_HAND: Readonly<Record<string, Make>> = {
  attach: listing,
  caps: listing,
  'owner-allocate': moved('allocate', 'suppliedAssetsTotal'),
  'owner-deallocate': moved('deallocate', 'recalledAssetsTotal'),
  'owner-reallocate': batch,
  'allocator-grant': granting('allocator', true),
  'allocator-revoke': granting('allocator', false),
  'manager-grant': granting('manager', true),
  'curator-revoke': granting('curator', false),
  fees,
  'curator-fee': curatorFee,
  routing,
  settings,
  offer: passing('offer'),
  accept: passing('accept'),
  cancel: passing('cancel'),
  'partner-channel': channel(() => SELF),
  'curator-channel': channel(ours),
  'manager-channel': channel(ours),
  'partner-deposit': deposit,
  'partner-redeem': redeem,
  'investor-deposit': deposit,
  'investor-redeem': redeem,
  'fee-shares': feeShares,
  'borrower-fee': borrowerFee,
  block,
  'request-redeem': requestRedeem,
  'fulfill-redeem': fulfillRedeem,
  'transfer-shares': transferShares,
  'restore-shares': restoreShares,
}
