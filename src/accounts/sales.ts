import type { Address } from 'viem'
import type { Page } from '../journal/sqlite/accounts.ts'
import type { Entry } from './entries.ts'
import { isCollateral, netOf, type Thread } from './link-workflows.ts'

/** What the last that was bought was sold for with all before it, millionths of a US dollar, on which page, and what moved. */
export type Sale = { readonly usdMicros: bigint; readonly page: Page; readonly entries: readonly Entry[] }

/** Something that came, and what of it is there yet; without a thread nobody of ours bought it. */
type HeldLot = { readonly thread: Thread | null; readonly token: Address | null; left: bigint }
/** What left and is not paid for yet, first in, first out of what was held. */
type UnpaidDelivery = {
  readonly entry: Entry
  readonly parts: readonly { readonly held: HeldLot; readonly assets: bigint }[]
}

/**
 * Say what was sold for how much: of each token what came first goes first. It is paid for in the same transaction, or by what
 * the one who got it pays next. Pure.
 * @param entries all that moved of one account, after the page that opens it.
 * @returns those threads of which all that was bought is sold.
 */
export function salesOf(
  threads: readonly Thread[],
  entries: readonly Entry[],
  opening: Page | undefined,
): ReadonlyMap<Thread, Sale> {
  const buyerOf = new Map(
    threads.filter(isPurchase).flatMap((thread) => thread.entries.map((each) => [each, thread])),
  )
  const held: HeldLot[] = (opening?.closing ?? []).map(({ token, assets }) => ({
    thread: null,
    token,
    left: assets,
  }))
  const moneyOf = Map.groupBy(entries.filter(isMoneyIn), ({ line }) => line.hash)
  const givenOf = Map.groupBy(entries.filter(isGiven), ({ line }) => line.hash)
  const unpaid: UnpaidDelivery[] = []
  const sold = new Map<Thread, Sale>()
  const pay = (given: UnpaidDelivery, paid: readonly Entry[], paidUsdMicros: bigint) => {
    const whole = given.parts.reduce((sum, { assets }) => sum + assets, 0n)
    for (const { held: of, assets } of given.parts) {
      if (of.thread === null) continue
      const { usdMicros = 0n, entries: before = [] } = sold.get(of.thread) ?? {}
      sold.set(of.thread, {
        usdMicros: usdMicros + (paidUsdMicros * assets) / whole,
        page: paid.at(-1)?.page ?? given.entry.page,
        entries: [...before, given.entry, ...paid],
      })
    }
  }
  for (const entry of entries) {
    const { line, page } = entry
    if (isCollateral(page, line.token)) {
      if (isGiven(entry)) {
        const given = { entry, parts: take(held, line.token, -line.assets) }
        const paid = moneyOf.get(line.hash)
        if (paid === undefined) unpaid.push(given)
        else pay(given, paid, shareOf(entry, givenOf.get(line.hash) ?? [], paid))
        continue
      }
      const back = unpaid.findIndex(({ entry: { line: one } }) => isBack(one, line))
      for (const { held: of, assets } of back < 0 ? [] : (unpaid.splice(back, 1)[0]?.parts ?? []))
        of.left += assets
      if (back < 0) held.push({ thread: buyerOf.get(entry) ?? null, token: line.token, left: line.assets })
    } else if (isMoneyIn(entry) && !givenOf.has(line.hash)) {
      const next = unpaid.findIndex(({ entry: { line: one } }) => one.counterparty === line.counterparty)
      const given = next < 0 ? undefined : unpaid.splice(next, 1)[0]
      if (given !== undefined) pay(given, [entry], entry.usdMicros)
    }
  }
  const isWhole = (thread: Thread) =>
    !held.some((each) => each.thread === thread && each.left > 0n) &&
    !unpaid.some(({ parts }) => parts.some((part) => part.held.thread === thread))
  return new Map([...sold].filter(([thread]) => isWhole(thread)))
}

/** Whether a thread paid money for something that a market takes as collateral. */
function isPurchase({ entries }: Thread): boolean {
  const [first] = entries
  const net = netOf(entries)
  return (
    first !== undefined &&
    net.some(({ token, assets }) => assets > 0n && isCollateral(first.page, token)) &&
    net.some(({ token, assets }) => assets < 0n && !isCollateral(first.page, token))
  )
}

const isMoneyIn = ({ line, page }: Entry) => line.assets > 0n && !isCollateral(page, line.token)

const isGiven = ({ line, page }: Entry) => line.assets < 0n && isCollateral(page, line.token)

/** What of all that one transaction was paid is for one of those that it gave: by what they were worth. */
function shareOf(entry: Entry, given: readonly Entry[], paid: readonly Entry[]): bigint {
  const sum = (of: readonly Entry[]) => of.reduce((all, { usdMicros }) => all + usdMicros, 0n)
  const worth = sum(given)
  return worth === 0n ? sum(paid) / BigInt(given.length) : (sum(paid) * entry.usdMicros) / worth
}

const isBack = (given: Entry['line'], { token, assets, counterparty }: Entry['line']) =>
  given.token === token && given.assets === -assets && given.counterparty === counterparty

/** Take an amount of a token from what came first. */
function take(held: readonly HeldLot[], token: Address | null, wanted: bigint): UnpaidDelivery['parts'] {
  let missing = wanted
  return held.flatMap((each) => {
    if (each.token !== token || each.left === 0n || missing === 0n) return []
    const assets = each.left < missing ? each.left : missing
    each.left -= assets
    missing -= assets
    return { held: each, assets }
  })
}
