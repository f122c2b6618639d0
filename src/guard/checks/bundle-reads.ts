import type { Address } from 'viem'
import type { Call } from '../../chain/nodes.ts'
import type { PinnedContract } from '../../service/contract/deployment.ts'
import type { TokenChange } from '../../workflow/slot.ts'
import type { ClearedCall } from '../calls/call.ts'
import { pinsOf } from '../policy/deployment.ts'
import { type Arguments, memberAt, placesOf } from '../policy/paths.ts'
import type { Effects, Subject } from '../policy/references.ts'
import type { Rule } from '../policy/rule.ts'
import { asAddress } from '../policy/values.ts'
import { allowanceView, balanceView, type Reads } from '../reads/views.ts'
import { type AllowanceSeen, sharesOf } from './effects.ts'

/** What the tokens say around a bundle, once the reads are filled. */
export type TokenReads = {
  /** What the bundle does to our balance of each token; null when a balance is not known. */
  readonly changes: () => readonly TokenChange[] | null
  readonly allowances: () => readonly AllowanceSeen[]
}

/** Ask for our balance of every token and of the shares that effects name, and for what each contract that a bundle calls may take. */
export function askTokens(
  effects: Effects,
  subject: Subject,
  calls: readonly ClearedCall[],
  { before, after }: { readonly before: Reads; readonly after: Reads },
): TokenReads {
  const { self, deployment } = subject
  const tokens = [...deployment.assets.map(({ address }) => address), ...sharesOf(effects, subject)]
  const balances = tokens.map((token) => ({
    token,
    was: before.ask(balanceView(token, self)),
    is: after.ask(balanceView(token, self)),
  }))
  const assets = new Set(deployment.assets.map(({ address }) => address))
  const spenders = [...new Set(calleesOf(calls))].filter((address) => !assets.has(address))
  const pairs = spenders.flatMap((spender) =>
    tokensOf(calls, effects, subject).map((token) => {
      const was = before.ask(allowanceView(token, self, spender))
      const is = after.ask(allowanceView(token, self, spender))
      const approved = calls.some(({ approval }) => approval?.token === token && approval.spender === spender)
      return { token, spender, approved, was, is }
    }),
  )
  return {
    changes: () => {
      const known = balances.flatMap(({ token, was, is }) => {
        const [then, now] = [was(), is()]
        return then === null || now === null ? [] : [{ token, assets: now - then }]
      })
      return known.length < balances.length ? null : known.filter(({ assets }) => assets !== 0n)
    },
    allowances: () => pairs.map(({ was, is, ...pair }) => ({ ...pair, before: was(), after: is() })),
  }
}

/** Find every contract that the bundle or our own reads rely on, with the code it must have. Pure. */
export function contractsOf(
  calls: readonly ClearedCall[],
  effects: Effects,
  subject: Subject,
  reads: readonly Call[],
): readonly PinnedContract[] {
  const { market, vault, fund, deployment } = subject
  const involved = new Set([
    ...calleesOf(calls),
    ...reads.map(({ to }) => to),
    ...tokensOf(calls, effects, subject),
    ...[market?.address, market?.oracle, vault?.address, fund?.address, fund?.quoteAsset],
    ...calls.flatMap((call) => [call, ...call.inside]).flatMap(({ args, rule }) => addressesIn(args, rule)),
  ])
  return pinsOf(deployment).filter(({ address }) => involved.has(address))
}

/** The contracts that are called; one that is created was not there before. */
const calleesOf = (calls: readonly ClearedCall[]): readonly Address[] =>
  calls.flatMap(({ to, inside }) => [...(to === null ? [] : [to]), ...calleesOf(inside)])

/** Addresses among a call's arguments. */
const addressesIn = (args: Arguments, { leaves }: Rule): readonly (Address | undefined)[] =>
  leaves.flatMap(({ path }) => placesOf(args, path).map((place) => asAddress(memberAt(args, path, place))))

/** Tokens that the bundle may move: those it goes to, those its effects name, and its market's. */
function tokensOf(
  calls: readonly ClearedCall[],
  { out, in: into, moves }: Effects,
  subject: Subject,
): readonly Address[] {
  const { market, deployment } = subject
  const named = new Set<unknown>([
    ...calls.map(({ to }) => to),
    ...[...out, ...into, ...moves].map(({ token }) => token.resolve(subject)),
    ...[market?.loanAsset, market?.collateralAsset],
  ])
  return deployment.assets.map(({ address }) => address).filter((address) => named.has(address))
}
