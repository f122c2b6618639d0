import { type Address, zeroAddress } from 'viem'
import type { Moment } from '../../../../agents/agent.ts'
import { least } from '../../../../agents/asset-manager/declared/settings-step.ts'
import { paysLater } from '../../../../agents/asset-manager/declared/term-settings.ts'
import type { ManagerSeen, OwnerFigures, VaultRole } from '../../../../agents/asset-manager/seen.ts'
import {
  managementSettingsInput,
  ownerSettingsInput,
} from '../../../../src/service/contract/ownership-inputs.ts'
import { EXIT_TERM_KINDS } from '../../../../src/service/contract/workflow-inputs.ts'
import { WORKFLOW_CATALOGUE } from '../../../../src/service/contract/workflow-types.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { MARKET, mobility, moment, SIGNER, USD, VAULT, vaultRow } from '../fixtures.ts'

/** Two markets beside the fixtures' own. */
export const MARKETS: readonly Address[] = [MARKET, `0x${'31'.repeat(20)}`, `0x${'32'.repeat(20)}`]
export const NAMES = ['oneMarket', 'twoMarket', 'threeMarket'] as const
export const CHANNEL: Address = `0x${'cc'.repeat(20)}`
export const RESELLER: Address = `0x${'dd'.repeat(20)}`

type Listing = {
  approved: boolean
  allocationEnabled: boolean
  relativeCapBps: number
  absoluteCapAssets: bigint
}
/** When holders are paid, as the contract keeps it, its kind by name. */
type Exit = {
  exitTermKind: (typeof EXIT_TERM_KINDS)[number]
  noticeSeconds: number
  intervalSeconds: number
  maturityTimestamp: number
}

/** A vault with one channel at most, as its contracts and the service keep it. */
export type Model = {
  owner: Address
  pendingOwner: Address | null
  listings: readonly Listing[]
  /** What is lent to each market, of a total of 10,000. */
  lent: bigint
  roles: ReadonlySet<string>
  fees: OwnerFigures['fees']
  routing: readonly Address[]
  terms: Exit & { liquidityBufferBps: number; minDepositAssets: bigint; maxDepositAssets: bigint }
  tighteningLocked: boolean
  channel: { curator: Address; blocked: ReadonlySet<Address> } | null
  management: { managerName: string; website: string; logoUrl: string } | null
  classification: { shareClass: string; riskScore: number } | null
}

/** Every account that the tests declare anything of. */
export const PEOPLE: readonly Address[] = [SIGNER, `0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`]
const ROLES: readonly VaultRole[] = ['allocator', 'manager', 'curator']

/** Nothing of a vault, and everything closed. */
export const BARE: Model = {
  owner: SIGNER,
  pendingOwner: null,
  listings: NAMES.map(() => ({
    approved: false,
    allocationEnabled: false,
    relativeCapBps: 0,
    absoluteCapAssets: 0n,
  })),
  lent: 0n,
  roles: new Set([`manager:${SIGNER}`]),
  fees: {
    managementFeeBps: 0,
    performanceFeeBps: 0,
    recipient: zeroAddress,
    borrowerManagerFeeBps: 0,
    curatorRecipient: zeroAddress,
  },
  routing: [],
  terms: {
    liquidityBufferBps: 500,
    exitTermKind: 'instant',
    noticeSeconds: 0,
    intervalSeconds: 0,
    maturityTimestamp: 0,
    minDepositAssets: 0n,
    maxDepositAssets: 0n,
  },
  tighteningLocked: false,
  channel: null,
  management: null,
  classification: null,
}

const ROW = vaultRow()

/** What the asset manager sees of a model. Whoever runs it pins a channel as soon as it is there. */
export function seenOf(model: Model): Moment & ManagerSeen {
  const base = moment()
  const { exitTermKind, ...terms } = model.terms
  const settings: OwnerFigures = {
    asset: USD,
    totalAssets: 10_000n,
    owner: model.owner,
    pendingOwner: model.pendingOwner,
    listings: new Map(
      model.listings.map((listing, index) => [
        MARKETS[index] ?? MARKET,
        { ...listing, admitted: true, heldAssets: model.lent },
      ]),
    ),
    roles: new Map(
      ROLES.flatMap((role) =>
        PEOPLE.map((account) => [`${role}:${account}`, model.roles.has(`${role}:${account}`)] as const),
      ),
    ),
    fees: model.fees,
    routing: model.routing,
    terms: { ...terms, exitTermKind: EXIT_TERM_KINDS.indexOf(exitTermKind) },
    tighteningLocked: model.tighteningLocked,
  }
  const row = {
    ...ROW,
    shareClass: model.classification?.shareClass,
    riskScore: model.classification?.riskScore,
    assetManager: {
      id: SIGNER,
      address: SIGNER,
      name: model.management?.managerName,
      website: model.management?.website,
      logoUrl: model.management?.logoUrl,
    },
  }
  const { channel } = model
  return {
    ...base,
    deployment: {
      ...base.deployment,
      markets: MARKETS.map((address, index) => ({
        address,
        name: NAMES[index],
        loanAsset: USD,
        collateralAsset: USD,
        oracle: USD,
      })),
      contracts: channel === null ? [] : [{ name: 'partner', address: CHANNEL }],
    },
    vaults: [{ row, mobility: mobility(), settings }],
    channels:
      channel === null
        ? []
        : [
            {
              name: 'partner',
              address: CHANNEL,
              figures: {
                vault: VAULT,
                reseller: RESELLER,
                curator: channel.curator,
                shareClass: 'Retail',
                resellerFeeBps: 100,
                borrowerFeeBps: 200,
                capAssets: 7n,
                blocked: new Map([...PEOPLE, CHANNEL].map((who) => [who, channel.blocked.has(who)])),
              },
            },
          ],
    wrappers: [],
  }
}

const changed = <T>(set: ReadonlySet<T>, one: T, isIn: boolean): ReadonlySet<T> =>
  isIn ? new Set([...set, one]) : new Set([...set].filter((each) => each !== one))

const must = (isSo: boolean, rule: string) => {
  if (!isSo) throw new Error(`the contract or the service refuses: ${rule}`)
}

/** What a step makes of a model; throws where contract, service or guard refuse it. */
export function applied(model: Model, { workflowType, input }: Proposal): Model {
  WORKFLOW_CATALOGUE[workflowType].input.parse(input)
  const text = (name: string) => String(input[name])
  const address = (name: string): Address => `0x${text(name).slice(2)}`
  if (workflowType.startsWith('role.vault_owner.')) must(model.owner === SIGNER, 'only the owner')
  switch (workflowType) {
    case 'role.vault_owner.attachMarketToVault':
    case 'role.vault_owner.vaultCuratorCapsSettingsSave': {
      const at = MARKETS.indexOf(address('marketAddress'))
      const isAttached = model.listings[at]?.approved === true
      must(isAttached === workflowType.endsWith('Save'), 'attached once, capped then')
      const listing = {
        approved: true,
        allocationEnabled: input.allocationEnabled === true,
        relativeCapBps: Number(input.relativeCapBps),
        absoluteCapAssets: BigInt(text('absoluteCapAssets')),
      }
      const room = least(listing.absoluteCapAssets, BigInt(listing.relativeCapBps))
      must(!listing.allocationEnabled || model.lent <= room, 'open under caps that cover what is lent')
      return { ...model, listings: model.listings.with(at, listing) }
    }
    case 'role.vault_owner.vaultAllocatorUpdate':
    case 'role.vault_owner.vaultRoleSettingsSave': {
      const isAllocator = input.role === undefined
      const key = isAllocator
        ? `allocator:${address('allocatorAddress')}`
        : `${text('role')}:${address('accountAddress')}`
      must(model.roles.has(key) !== (input.granted === true), 'a role changes')
      return { ...model, roles: changed(model.roles, key, input.granted === true) }
    }
    case 'role.vault_owner.vaultFeeConfigUpdate': {
      const rates = {
        managementFeeBps: Number(input.managementFeeBps),
        performanceFeeBps: Number(input.performanceFeeBps),
        recipient: address('recipientAddress'),
      }
      must(rates.recipient !== zeroAddress, 'a fee has its recipient')
      return { ...model, fees: { ...model.fees, ...rates } }
    }
    case 'role.vault_owner.vaultCuratorFeeSettingsSave': {
      const curatorRecipient = address('recipientAddress')
      must(curatorRecipient !== zeroAddress, 'a fee has its recipient')
      const borrowerManagerFeeBps = Number(input.borrowerManagerFeeBps)
      return { ...model, fees: { ...model.fees, borrowerManagerFeeBps, curatorRecipient } }
    }
    case 'role.vault_owner.vaultSettingsUpdate': {
      const terms: Model['terms'] = {
        liquidityBufferBps: Number(input.liquidityBufferBps),
        exitTermKind: EXIT_TERM_KINDS.find((kind) => kind === input.exitTermKind) ?? 'instant',
        noticeSeconds: Number(input.noticeSeconds),
        intervalSeconds: Number(input.intervalSeconds),
        maturityTimestamp: Number(input.maturityTimestamp),
        minDepositAssets: BigInt(text('minDepositAssets')),
        maxDepositAssets: BigInt(text('maxDepositAssets')),
      }
      must(
        terms.maxDepositAssets === 0n || terms.minDepositAssets <= terms.maxDepositAssets,
        'limits in order',
      )
      must(!model.tighteningLocked || !paysLater(model.terms, terms), 'locked terms')
      return { ...model, terms }
    }
    case 'role.vault_owner.vaultRoutingUpdate': {
      const routing = (input.marketAddresses as readonly string[]).map((one): Address => `0x${one.slice(2)}`)
      const isOpen = (market: Address) => {
        const listing = model.listings[MARKETS.indexOf(market)]
        return listing?.approved === true && listing.allocationEnabled
      }
      must(routing.every(isOpen), 'a route of open markets')
      return { ...model, routing }
    }
    case 'role.vault_owner.vaultManagementSettingsSave': {
      const { vaultAddress: _vault, ...management } = managementSettingsInput.parse(input)
      return { ...model, management }
    }
    case 'role.vault_owner.vaultOwnerSettingsSave': {
      const { vaultAddress: _vault, ...classification } = ownerSettingsInput.parse(input)
      return { ...model, classification }
    }
    case 'role.vault_owner.vaultOwnerTransferUpdate':
      must((model.pendingOwner === null) === (input.action === 'offer'), 'one offer at a time')
      return { ...model, pendingOwner: input.action === 'offer' ? address('newOwnerAddress') : null }
    case 'role.vault_manager.partnerChannelDeploy':
      must(model.channel === null, 'one channel of a class')
      must(model.roles.has(`manager:${SIGNER}`), 'a manager deploys')
      must(model.roles.has(`curator:${address('curatorAddress')}`), 'a curator of the vault')
      return { ...model, channel: { curator: address('curatorAddress'), blocked: new Set() } }
    case 'role.curator.partnerChannelBlockedUpdate': {
      const { channel } = model
      if (channel?.curator !== SIGNER) throw new Error('the curator alone')
      const blocked = changed(channel.blocked, address('accountAddress'), input.blocked === true)
      return { ...model, channel: { ...channel, blocked } }
    }
    default:
      throw new Error(`${workflowType} sets nothing of a vault`)
  }
}

const top = ({ maxDepositAssets }: Model['terms']) => (maxDepositAssets === 0n ? 10n ** 9n : maxDepositAssets)

/** Name what a step took away of a vault's protection; empty where it took nothing. */
export function loosened(was: Model, is: Model): readonly string[] {
  const found: string[] = []
  is.listings.forEach((now, index) => {
    const old = was.listings[index]
    if (old === undefined) return
    // What a listing says counts from its approval on.
    const isOpen = (one: Listing) => one.approved && one.allocationEnabled
    if (isOpen(now) && !isOpen(old)) found.push('allocation')
    if (!old.approved) return
    if (now.absoluteCapAssets > old.absoluteCapAssets || now.relativeCapBps > old.relativeCapBps) {
      found.push('cap')
    }
  })
  for (const name of ['managementFeeBps', 'performanceFeeBps', 'borrowerManagerFeeBps'] as const) {
    if (is.fees[name] > was.fees[name]) found.push(name)
  }
  if (is.fees.recipient !== was.fees.recipient || is.fees.curatorRecipient !== was.fees.curatorRecipient) {
    found.push('recipient')
  }
  if ([...is.roles].some((role) => !was.roles.has(role))) found.push('role')
  if (is.routing.some((market) => !was.routing.includes(market))) found.push('routing')
  if (is.terms.liquidityBufferBps < was.terms.liquidityBufferBps) found.push('buffer')
  if (paysLater(was.terms, is.terms)) found.push('exit')
  if (is.terms.minDepositAssets < was.terms.minDepositAssets || top(is.terms) > top(was.terms))
    found.push('deposits')
  if (was.channel !== null && [...was.channel.blocked].some((one) => !is.channel?.blocked.has(one))) {
    found.push('unblocked')
  }
  if (is.pendingOwner !== null && is.pendingOwner !== was.pendingOwner) found.push('offer')
  if (was.classification !== null) {
    if ((is.classification?.riskScore ?? 0) < was.classification.riskScore) found.push('risk')
    if (is.classification?.shareClass !== was.classification.shareClass) found.push('share class')
  }
  return found
}
