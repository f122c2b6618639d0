import { z } from 'zod'
import { addr } from '../../../src/service/contract/scalars.ts'
import {
  assetAmount,
  bps,
  contractName,
  count,
  pinnedSymbol,
  positiveAssets,
  settings,
} from '../../../src/service/contract/yaml-scalars.ts'
import type { Denomination } from '../../../src/units.ts'
import { checkExitTerms, exitTermMembers, flag, once, somebody, ticker, title } from './declared-scalars.ts'

/** The contracts' highest fees: a vault's a year, of gains and of borrowers' interest; a channel's a year and of gains. */
const FEE_BPS_MAX = {
  management: 500,
  performance: 3_000,
  borrowerManager: 2_000,
  reseller: 500,
  borrower: 2_000,
}
/** Markets of a vault at most, as its contract has it. */
const MARKETS_MAX = 16
/** More accounts than anybody reads through. */
const ACCOUNTS_MAX = 64

/** One market of a vault, by its name in the deployment, with how far it may be lent to. */
const market = (pinned: readonly Denomination[]) =>
  settings({
    market: contractName,
    absoluteCapAssets: assetAmount(pinned),
    relativeCapBps: bps(),
    allocationEnabled: flag,
  }).superRefine(({ allocationEnabled, absoluteCapAssets, relativeCapBps }, context) => {
    if (!allocationEnabled) return
    const nothing = absoluteCapAssets === 0n ? 'absoluteCap' : relativeCapBps === 0 ? 'relativeCap' : null
    if (nothing === null) return
    const message = 'expected more than 0 with allocationEnabled: under a cap of 0 nothing can be allocated'
    context.addIssue({ code: 'custom', path: [nothing], message })
  })

/** Who has a role of a vault, or no longer; who is not named keeps what it has. */
const grants = z
  .array(settings({ address: somebody, granted: flag }))
  .max(ACCOUNTS_MAX)
  .refine((list) => once(list, ({ address }) => address), {
    error: 'an account is there twice; expected each once',
  })

const fees = settings({
  /** Of all assets, a year. */
  managementFeeBps: bps(0, FEE_BPS_MAX.management),
  /** Of what a share gains above its highest price. */
  performanceFeeBps: bps(0, FEE_BPS_MAX.performance),
  recipient: somebody,
})

const borrowerManagerFee = settings({
  /** Of the interest that borrowers pay. */
  feeBps: bps(0, FEE_BPS_MAX.borrowerManager),
  recipient: somebody,
})

/** What is kept idle, when holders are paid, and how much one deposit is; a highest deposit of 0 is none. */
const terms = (pinned: readonly Denomination[]) =>
  settings({
    liquidityBufferBps: bps().optional(),
    exit: settings(exitTermMembers).superRefine(checkExitTerms).optional(),
    minDepositAssets: assetAmount(pinned).optional(),
    maxDepositAssets: assetAmount(pinned).optional(),
  }).refine(({ minDepositAssets: min = 0n, maxDepositAssets: max = 0n }) => max === 0n || min <= max, {
    path: ['minDeposit'],
    error: 'expected no more than maxDeposit',
  })
export type DeclaredTerms = z.output<ReturnType<typeof terms>>

/** An account of a channel; `everyone` is the channel as a whole, which then moves nothing at all. */
const account = z.union([z.literal('everyone'), z.literal('self'), addr], {
  error: 'expected an address, self, or everyone',
})

/** A partner's channel into a vault: found by vault, reseller and share class, deployed where there is none. */
const channel = (pinned: readonly Denomination[]) =>
  settings({
    /** What deployment.contracts calls it once it is pinned there. */
    channel: contractName,
    name: title,
    symbol: ticker,
    reseller: somebody,
    curator: somebody,
    shareClass: title,
    resellerFeeBps: bps(0, FEE_BPS_MAX.reseller),
    borrowerFeeBps: bps(0, FEE_BPS_MAX.borrower),
    capAssets: positiveAssets(pinned),
    blocked: z
      .array(settings({ address: account, blocked: flag }))
      .max(ACCOUNTS_MAX)
      .refine((list) => once(list, ({ address }) => address), {
        error: 'an account is there twice; expected each once',
      })
      .default([]),
  })
export type DeclaredChannel = z.output<ReturnType<typeof channel>>

const website = z
  .string()
  .regex(/^https:\/\/[\x21-\x7e]{1,192}$/, 'expected an address that begins with https://')

/** How the service shows a vault's manager. */
const management = settings({ managerName: title, website, logoUrl: website })

/** How the service classes a vault; a risk score of 0 is the least. */
const classification = settings({ shareClass: title, riskScore: count('of risk', 0, 100) })

/** Members whose amounts are of the vault's base asset. */
const AMOUNTS: ReadonlySet<string> = new Set(['absoluteCap', 'minDeposit', 'maxDeposit', 'cap'])

/** Find amounts of another pinned token than the one that an entry names as its base asset. Pure. */
function amountsOfOthers(
  raw: unknown,
  baseAsset: string,
  pinned: readonly Denomination[],
  path: readonly (string | number)[] = [],
): readonly { readonly path: (string | number)[]; readonly message: string }[] {
  if (raw === null || typeof raw !== 'object') return []
  const entries = Array.isArray(raw) ? [...raw.entries()] : Object.entries(raw)
  return entries.flatMap(([key, value]) => {
    const place = [...path, key]
    const unit = typeof value === 'string' ? / (\S+)$/.exec(value)?.[1] : undefined
    if (unit === undefined) return amountsOfOthers(value, baseAsset, pinned, place)
    const isOther =
      AMOUNTS.has(String(key)) && unit !== baseAsset && pinned.some(({ symbol }) => symbol === unit)
    return isOther ? [{ path: place, message: `expected an amount of ${baseAsset}, not of ${unit}` }] : []
  })
}

/**
 * `declared.vaultSettings`: what the owner of a vault sets, where we are its owner. What is stricter than what is there is
 * applied; what is looser only with `allowLoosening`, and then on approval. Each member that is absent is left alone.
 */
export const vaultSettings = (pinned: readonly Denomination[]) =>
  z.preprocess(
    (raw, context) => {
      const baseAsset: unknown = Reflect.get(Object(raw), 'baseAsset')
      if (typeof baseAsset !== 'string') return raw
      for (const { path, message } of amountsOfOthers(raw, baseAsset, pinned)) {
        context.addIssue({ code: 'custom', path, message })
      }
      return raw
    },
    settings({
      /** By the name that the deployment gives it, or the symbol of a declared vault that is to be pinned under it. */
      vault: contractName,
      /** What its amounts are of: held against what the vault itself says. */
      baseAsset: pinnedSymbol,
      markets: z
        .array(market(pinned))
        .max(MARKETS_MAX)
        .refine((list) => once(list, (one) => one.market), {
          error: 'a market is there twice; expected each once',
        })
        .default([]),
      allocators: grants.default([]),
      managers: grants.default([]),
      curators: grants.default([]),
      fees: fees.optional(),
      borrowerManagerFee: borrowerManagerFee.optional(),
      /** Where a deposit goes at once, in this order. */
      routing: z
        .array(contractName)
        .max(MARKETS_MAX)
        .refine((list) => once(list, (one) => one), {
          error: 'a market is there twice; expected each once',
        })
        .optional(),
      terms: terms(pinned).optional(),
      channels: z
        .array(channel(pinned))
        .max(16)
        .refine((list) => once(list, (one) => one.channel), {
          error: 'a channel is there twice; expected each name once',
        })
        .refine((list) => once(list, ({ reseller, shareClass }) => `${reseller}\n${shareClass}`), {
          error: 'two channels are of one reseller and share class; the service keeps one of each',
        })
        .default([]),
      management: management.optional(),
      classification: classification.optional(),
      /** Who is offered the vault once all else is as declared; it is ours until that one accepts. */
      newOwner: somebody.optional(),
      allowLoosening: flag,
    }).superRefine(({ markets, routing = [], channels, curators }, context) => {
      for (const [index, name] of routing.entries()) {
        if (markets.some(({ market, allocationEnabled }) => market === name && allocationEnabled)) continue
        const message = `${name} is not among the markets of this entry with allocationEnabled: a deposit goes to those alone`
        context.addIssue({ code: 'custom', path: ['routing', index], message })
      }
      for (const [index, { curator }] of channels.entries()) {
        if (!curators.some(({ address, granted }) => address === curator && !granted)) continue
        const message = 'this curator is to lose its role; a channel needs a curator of the vault'
        context.addIssue({ code: 'custom', path: ['channels', index, 'curator'], message })
      }
    }),
  )
export type DeclaredSettings = z.output<ReturnType<typeof vaultSettings>>
