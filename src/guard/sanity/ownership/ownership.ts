import { isDeepStrictEqual } from 'node:util'
import { type Address, zeroAddress } from 'viem'
import type { z } from 'zod'
import { type Refusal, refuse } from '../../../errors.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import { bps, settings } from '../../../service/contract/yaml-scalars.ts'
import { percent } from '../../../units.ts'
import { asAddress } from '../../policy/values.ts'
import { allocationCheck, allocationLimits } from '../allocator/allocator.ts'
import {
  account,
  type Compared,
  figure,
  type JudgedCase,
  type Judgement,
  type SanityCheck,
  unread,
  vaultOf,
} from '../judgement.ts'
import { checkFields, fieldOf, upTo } from '../loosening.ts'
import { askSetup, OWNERSHIP_VIEWS, type VaultSetup, vaultAssetView } from '../vault-views.ts'
import { askListings, askRoles } from './rights.ts'
import { TERMS, termFields } from './terms.ts'
import { type Act, transferAct } from './transfer.ts'

/** Members of `guard.sanity` of every role that acts as a vault's owner. */
export const ownershipLimits = {
  ownership: settings({
    /** How far one act may raise each fee of a vault: what is more is reached in steps, and each is approved. */
    managementFeeRaiseBpsMax: bps().transform(BigInt),
    performanceFeeRaiseBpsMax: bps().transform(BigInt),
    borrowerManagerFeeRaiseBpsMax: bps().transform(BigInt),
  }),
  /** The allocator's own limits, for what an owner moves itself. */
  allocation: allocationLimits,
}
/** How far an owner goes in one act. */
export type OwnershipLimits = Readonly<z.output<z.ZodObject<typeof ownershipLimits>>>

/**
 * Judge an act of a vault's owner by chain reads: we own the vault, the act changes something and no more of it than the
 * policy allows at once, and afterwards the vault is what it was but for exactly what was asked for.
 */
function judgeAct(about: JudgedCase, act: Act): Judgement {
  const vault = vaultOf(about)
  const { self } = about.subject
  const [before, after] = [askSetup(about.before, vault), askSetup(about.after, vault)]
  const mayAct = act.may ?? ((setup: VaultSetup) => checkOwner(setup, self, vault))
  return {
    checkState: (timestampS) => {
      const setup = before()
      if (setup === null) return unread('what the vault’s owner sets')
      return mayAct(setup, timestampS) ?? act.check(setup) ?? act.beside?.checkState?.(setup) ?? null
    },
    checkOutcome: () => {
      const [was, is] = [before(), after()]
      if (was === null || is === null) return unread('what the vault’s owner sets, afterwards')
      return checkSetup(is, { ...was, ...act.change(was) }) ?? act.beside?.checkOutcome() ?? null
    },
  }
}

/** Ask for what an act sets beside what is there. Nothing is judged by what the vault's amounts are of. */
function compareAct(about: JudgedCase, act: Act): () => Compared | null {
  const vault = vaultOf(about)
  const [setup, asset] = [askSetup(about.before, vault), about.before.ask(vaultAssetView(vault))]
  return () => {
    const [found, of] = [setup(), asset()]
    const fields = found === null ? null : act.compare(found)
    return fields === null ? null : { fields, ...(of === null ? {} : { asset: of }) }
  }
}

function checkOwner({ owner }: VaultSetup, self: Address, vault: Address): Refusal | null {
  return owner === self ? null : refuse('not_owner', `The vault ${vault} is owned by ${owner}.`)
}

/** Demand that a vault is set up as was asked for, and in nothing otherwise than before. */
function checkSetup(is: VaultSetup, wanted: VaultSetup): Refusal | null {
  const other = (Object.keys(wanted) as (keyof VaultSetup)[]).filter(
    (name) => !isDeepStrictEqual(is[name], wanted[name]),
  )
  if (other.length === 0) return null
  return refuse(
    'vault_not_as_asked',
    `Afterwards the vault would differ from what was asked for in: ${other.join(', ')}.`,
  )
}

function feesAct(about: JudgedCase, { ownership }: OwnershipLimits): Act {
  const wanted = {
    managementFeeBps: figure(about, 'managementFeeBps'),
    performanceFeeBps: figure(about, 'performanceFeeBps'),
    recipient: account(about, 'recipientAddress'),
  }
  const compare = ({ fees }: Pick<VaultSetup, 'fees'>) => [
    upTo('managementFeeBps', fees.managementFeeBps, wanted.managementFeeBps),
    upTo('performanceFeeBps', fees.performanceFeeBps, wanted.performanceFeeBps),
    recipientField(fees.recipient, wanted.recipient),
  ]
  return {
    compare,
    check: ({ fees }) =>
      checkRaise(
        'management',
        fees.managementFeeBps,
        wanted.managementFeeBps,
        ownership.managementFeeRaiseBpsMax,
      ) ??
      checkRaise(
        'performance',
        fees.performanceFeeBps,
        wanted.performanceFeeBps,
        ownership.performanceFeeRaiseBpsMax,
      ) ??
      checkFields(about, compare({ fees })),
    change: ({ fees }) => ({ fees: { ...fees, ...wanted } }),
  }
}

function curatorFeeAct(about: JudgedCase, { ownership }: OwnershipLimits): Act {
  const wanted = {
    borrowerManagerFeeBps: figure(about, 'borrowerManagerFeeBps'),
    curatorRecipient: account(about, 'recipientAddress'),
  }
  const compare = ({ fees }: Pick<VaultSetup, 'fees'>) => [
    upTo('borrowerManagerFeeBps', fees.borrowerManagerFeeBps, wanted.borrowerManagerFeeBps),
    recipientField(fees.curatorRecipient, wanted.curatorRecipient),
  ]
  return {
    compare,
    check: ({ fees }) =>
      checkRaise(
        'borrower-manager',
        fees.borrowerManagerFeeBps,
        wanted.borrowerManagerFeeBps,
        ownership.borrowerManagerFeeRaiseBpsMax,
      ) ?? checkFields(about, compare({ fees })),
    change: ({ fees }) => ({ fees: { ...fees, ...wanted } }),
  }
}

/** Another one is paid: that is never merely stricter. */
const recipientField = (was: Address, wanted: Address) =>
  fieldOf('recipientAddress', was, wanted, wanted !== was)

function checkRaise(name: string, fromBps: bigint, toBps: bigint, raiseBpsMax: bigint): Refusal | null {
  if (toBps - fromBps <= raiseBpsMax) return null
  return refuse(
    'fee_raised_too_far',
    `The ${name} fee would rise from ${percent(fromBps)} to ${percent(toBps)}; the policy allows ${percent(raiseBpsMax)} at once.`,
  )
}

function settingsAct(about: JudgedCase): Act {
  const { input } = about.subject
  const wanted = {
    bufferBps: figure(about, 'liquidityBufferBps'),
    exitTerms: {
      kind: BigInt(TERMS.indexOf(String(input.exitTermKind))),
      noticeSeconds: figure(about, 'noticeSeconds'),
      intervalSeconds: figure(about, 'intervalSeconds'),
      maturityTimestamp: figure(about, 'maturityTimestamp'),
    },
    minDepositAssets: figure(about, 'minDepositAssets'),
    maxDepositAssets: figure(about, 'maxDepositAssets'),
  }
  const { minDepositAssets: least, maxDepositAssets: most } = wanted
  return {
    check: (setup) =>
      most === 0n || least <= most
        ? checkFields(about, termFields(setup, wanted))
        : refuse('deposit_limits_crossed', 'The least deposit would be more than the largest.'),
    change: () => wanted,
    compare: (setup) => termFields(setup, wanted),
  }
}

/** A route as agents write it. */
const routeText = (list: readonly Address[], { subject: { deployment } }: JudgedCase): string =>
  list.length === 0
    ? 'nowhere'
    : list.map((each) => deployment.markets.find(({ address }) => address === each)?.name ?? each).join(', ')

function routingAct(about: JudgedCase): Act {
  const { input } = about.subject
  const markets = Array.isArray(input.marketAddresses)
    ? input.marketAddresses.map((each: unknown) => asAddress(each) ?? zeroAddress)
    : []
  const listings = askListings(about, vaultOf(about), null)
  const text = (list: readonly Address[]) => routeText(list, about)
  const compare = ({ routing }: VaultSetup) => {
    const isLooser = markets.some((market) => !routing.includes(market))
    return [fieldOf('routing', text(routing), text(markets), isLooser)]
  }
  return {
    compare,
    check: (setup) => listings.checkOpen(markets) ?? checkFields(about, compare(setup)),
    change: () => ({ routing: markets }),
    beside: listings,
  }
}

function listingAct(about: JudgedCase, isAttached: boolean): Act {
  const { input } = about.subject
  const wanted = {
    market: account(about, 'marketAddress'),
    listing: {
      approved: true,
      allocationEnabled: input.allocationEnabled === true,
      relativeCapBps: figure(about, 'relativeCapBps'),
      absoluteCapAssets: figure(about, 'absoluteCapAssets'),
    },
  }
  const listings = askListings(about, vaultOf(about), wanted)
  return {
    check: () => listings.checkAttached(wanted.market, isAttached) ?? listings.checkTerms(wanted),
    change: () => ({}),
    compare: () => listings.compare(wanted),
    beside: listings,
  }
}

function roleAct(about: JudgedCase, role: 'allocator' | 'manager' | 'curator', member: string): Act {
  const isGranted = about.subject.input.granted === true
  const roles = askRoles(about, vaultOf(about), { role, account: account(about, member), isGranted })
  return { check: () => null, change: () => ({}), beside: roles, compare: roles.compare }
}

const OWNED: SanityCheck['revalidations'] = ['vault_owner', 'intent_not_expired']

const check = (
  relies: readonly string[],
  act: (about: JudgedCase) => Act,
  revalidations: SanityCheck['revalidations'] = OWNED,
): SanityCheck => ({
  views: OWNERSHIP_VIEWS,
  relies: ['vaultAddress', ...relies],
  revalidations,
  judge: (about) => judgeAct(about, act(about)),
  compare: (about) => compareAct(about, act(about)),
})

const PREFIX = 'role.vault_owner.'
const LISTING = ['marketAddress', 'absoluteCapAssets', 'relativeCapBps', 'allocationEnabled']

/**
 * The judgements of what a vault's owner does, whichever role of ours that is. Pure. Who is paid its fees is in no `relies`: no
 * judgement says who that may be, so the rules have to list them.
 */
export const ownershipChecks = (
  limits: OwnershipLimits,
): readonly (readonly [WorkflowType, SanityCheck])[] => [
  [`${PREFIX}attachMarketToVault`, check(LISTING, (about) => listingAct(about, false))],
  [`${PREFIX}vaultCuratorCapsSettingsSave`, check(LISTING, (about) => listingAct(about, true))],
  [
    `${PREFIX}vaultFeeConfigUpdate`,
    check(['managementFeeBps', 'performanceFeeBps'], (about) => feesAct(about, limits)),
  ],
  [
    `${PREFIX}vaultCuratorFeeSettingsSave`,
    check(['borrowerManagerFeeBps'], (about) => curatorFeeAct(about, limits)),
  ],
  [
    `${PREFIX}vaultAllocatorUpdate`,
    check(['allocatorAddress'], (about) => roleAct(about, 'allocator', 'allocatorAddress')),
  ],
  [
    `${PREFIX}vaultRoleSettingsSave`,
    check(['role', 'accountAddress'], (about) =>
      roleAct(about, about.subject.input.role === 'curator' ? 'curator' : 'manager', 'accountAddress'),
    ),
  ],
  [`${PREFIX}vaultRoutingUpdate`, check(['marketAddresses[]'], routingAct)],
  [
    `${PREFIX}vaultSettingsUpdate`,
    check(
      [
        ...['liquidityBufferBps', 'exitTermKind', 'noticeSeconds', 'intervalSeconds', 'maturityTimestamp'],
        ...['minDepositAssets', 'maxDepositAssets'],
      ],
      settingsAct,
    ),
  ],
  [
    `${PREFIX}vaultOwnerTransferUpdate`,
    check(['newOwnerAddress'], transferAct, ['vault_owner', 'ownership_offered', 'intent_not_expired']),
  ],
  [`${PREFIX}vaultAllocate`, allocationCheck(limits.allocation, 'allocate', 'owner')],
  [`${PREFIX}vaultDeallocate`, allocationCheck(limits.allocation, 'deallocate', 'owner')],
  [`${PREFIX}vaultReallocationBatch`, allocationCheck(limits.allocation, 'batch', 'owner')],
]
