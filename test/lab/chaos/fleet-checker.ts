import { parseTransaction, recoverTransactionAddress } from 'viem'
import type { Gone } from './fleet-weather.ts'
import type { FleetWorld } from './fleet-world.ts'
import type { Holders } from './holders.ts'

/** A call that was on its way when the seat changed hands arrives so late at most. */
const ON_ITS_WAY_MS = 250

/** What the KMS's log and the nodes' say of who signed and sent, against who held the seat. */
export async function trespasses({ deeds, seats }: FleetWorld, holders: Holders): Promise<readonly string[]> {
  const problems: string[] = []
  const known = new Set<string>()
  for (const deed of deeds()) {
    const { name, atMs } = deed
    let seat: string | undefined
    if (deed.kind === 'sign') seat = deed.seat
    else if (!known.has(deed.hash)) {
      known.add(deed.hash)
      seat = (await senderOf(deed.raw)).toLowerCase()
    }
    if (seat === undefined || !seats.includes(seat)) continue
    if (holders.isAnothers(seat, name, atMs - ON_ITS_WAY_MS, 2 * ON_ITS_WAY_MS))
      problems.push(
        `TRESPASS: ${name} ${deed.kind === 'sign' ? 'asked the KMS to sign' : `was first to send ${deed.hash.slice(0, 10)}`} for ${seat.slice(0, 8)} at ${atMs}, which was not its seat any more`,
      )
  }
  return problems
}

async function senderOf(raw: `0x${string}`): Promise<string> {
  const serializedTransaction = raw as `0x02${string}`
  return parseTransaction(serializedTransaction).type === 'eip1559'
    ? recoverTransactionAddress({ serializedTransaction })
    : ''
}

/** How long seats stood without a holder that could act, ms from when theirs was killed or stopped. */
export type Takeover = {
  readonly how: Gone['how']
  readonly takenMs: number
  readonly signedMs: number | null
}

/** Find who took each seat of an instance that was killed or stopped, and when the next signature for it was asked for. */
export function takeovers(
  gone: readonly Gone[],
  { deeds }: FleetWorld,
  holders: Holders,
): readonly Takeover[] {
  return gone.flatMap(({ name, how, atMs, untilMs, seats }) =>
    seats.flatMap((seat) => {
      const taken = holders.changes().find((each) => each.seat === seat && each.seenAtMs > atMs)
      // Its own instance was sooner: began anew, or woke up.
      if (taken === undefined || ['', name].includes(taken.holder)) return []
      if (how === 'stopped' && taken.seenAtMs > untilMs) return []
      const next = deeds().find(
        (deed) =>
          deed.kind === 'sign' && deed.seat === seat && deed.name === taken.holder && deed.atMs > atMs,
      )
      return [{ how, takenMs: taken.seenAtMs - atMs, signedMs: next === undefined ? null : next.atMs - atMs }]
    }),
  )
}
