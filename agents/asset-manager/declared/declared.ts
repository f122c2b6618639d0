import { z } from 'zod'
import { TRANSFER_PROFILES } from '../../../src/service/contract/workflow-inputs.ts'
import {
  assetAmount,
  bps,
  contractName,
  ofToken,
  pinnedSymbol,
  seconds,
  settings,
} from '../../../src/service/contract/yaml-scalars.ts'
import type { Denomination } from '../../../src/units.ts'
import { checkExitTerms, exitTermMembers, flag, once, person, ticker, title } from './declared-scalars.ts'
import { vaultSettings } from './declared-settings.ts'

const YEAR_S = 31_536_000

/** What a fund buys and sells over. */
export const CHANNELS = ['acquisition', 'auction', 'rfq'] as const
export type Channel = (typeof CHANNELS)[number]

const vault = settings({
  name: title,
  symbol: ticker,
  baseAsset: pinnedSymbol,
  owner: person,
  allocator: person,
  liquidityBufferBps: bps(),
  ...exitTermMembers,
}).superRefine(checkExitTerms)
export type DeclaredVault = z.output<typeof vault>

const fund = (pinned: readonly Denomination[]) =>
  ofToken(
    pinned,
    'quoteAsset',
    settings({
      name: title,
      symbol: ticker,
      quoteAsset: pinnedSymbol,
      epochDurationSeconds: seconds(1, YEAR_S),
      minSubscriptionAssets: assetAmount(pinned).refine((assets) => assets > 0n, {
        error: 'expected more than 0: the contract refuses a fund that takes nothing at all',
      }),
      maxSubscriptionAssets: assetAmount(pinned),
      carryRateBps: bps(),
      performanceFeeBps: bps(),
      preferredReturnBps: bps(),
    }).refine((terms) => terms.minSubscriptionAssets <= terms.maxSubscriptionAssets, {
      path: ['minSubscription'],
      error: 'expected no more than maxSubscription',
    }),
  )
export type DeclaredFund = z.output<ReturnType<typeof fund>>

/** Stricter figures than the fund has are applied; looser ones only with `allowLoosening`, and on approval. */
const channelPolicy = (pinned: readonly Denomination[]) =>
  settings({
    /** The fund, by the name that the deployment gives it: the service's own names are never looked up. */
    fund: contractName,
    channel: z.enum(CHANNELS),
    enabled: flag,
    maxAssetsPerEpoch: assetAmount(pinned),
    maxPriceBps: bps(),
    maxPositionBps: bps(),
    allowLoosening: flag,
  })
export type DeclaredChannelPolicy = z.output<ReturnType<typeof channelPolicy>>

const emergencyPause = settings({
  /** What the pause says, and how it is known as ours later. */
  reason: z.string().regex(/^[\x20-\x7e]{1,64}$/, 'expected 1 to 64 characters of ASCII'),
  /** From then on anyone may restore; the contract allows 30 days. */
  pauseSeconds: seconds(1, 2_592_000),
  /** Bad debt of a market that the vault lends to, of what is supplied there: more than this pauses. */
  badDebtBpsMax: bps(),
})

/** Who may hold a vault's shares. What is not declared stays as it is. */
const mobility = settings({
  /** The vault, by the name that the deployment gives it: the service's own names are never looked up. */
  vault: contractName,
  transferProfile: z.enum(TRANSFER_PROFILES).optional(),
  trustedRecipients: z
    .array(settings({ address: person, trusted: flag }))
    .max(64)
    .optional(),
  emergencyPause: emergencyPause.optional(),
  allowLoosening: flag,
})
export type DeclaredMobility = z.output<typeof mobility>

/** What is to be: vaults, funds, channel policies, mobility rules and what owners set. What is not here is left alone. */
export const declaredPolicy = (pinned: readonly Denomination[]) =>
  settings({
    vaults: z
      .array(vault)
      .max(50)
      .refine((list) => once(list, (one) => `${one.name}\n${one.symbol}\n${one.baseAsset}`), {
        error: 'a vault is declared twice; expected each name, symbol and base asset once',
      }),
    funds: z
      .array(fund(pinned))
      .max(50)
      .refine((list) => once(list, (one) => one.name), {
        error: 'a fund is declared twice; expected each name once',
      }),
    channelPolicies: z
      .array(channelPolicy(pinned))
      .max(150)
      .refine((list) => once(list, (one) => `${one.fund}\n${one.channel}`), {
        error: 'a channel policy is declared twice; expected each fund and channel once',
      }),
    mobility: z
      .array(mobility)
      .max(50)
      .refine((list) => once(list, (one) => one.vault), {
        error: 'a vault is there twice; expected each name once',
      }),
    /** Absent in files that were written before there was anything to declare of it. */
    vaultSettings: z
      .array(vaultSettings(pinned))
      .max(50)
      .refine((list) => once(list, (one) => one.vault), {
        error: 'a vault is there twice; expected each name once',
      })
      .refine(
        (list) =>
          once(
            list.flatMap(({ channels }) => channels),
            (one) => one.channel,
          ),
        { error: 'a channel is there twice; expected each name once, of whichever vault' },
      )
      .default([]),
  })
export type Declared = z.output<ReturnType<typeof declaredPolicy>>
