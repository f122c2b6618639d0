import { randomUUID } from 'node:crypto'
import type { Address } from 'viem'
import { type Identity, releaseText } from '../../guard/approval/person-key.ts'
import type { JournalReads } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import type { SignerOrder } from '../../ops/orders.ts'
import { hashOfReasons, readSafe, type SafeReason, wayOut } from '../../pipeline/transactions/safe.ts'
import type { Slot } from '../../workflow/slot.ts'
import { signerShownAs } from '../orders/find-signer.ts'
import { order } from '../orders/order-desk.ts'
import { replyTo } from '../orders/order-reply.ts'
import { identify, KEY, readPersonKey } from '../orders/person-key.ts'
import { command, type Io, unknownWord, usageError } from '../parse/command.ts'
import { type KeeperPlace, PLACE, placeOf, placeText } from '../target/place.ts'

const VERBS = ['fill', 'cancel', 'release', 'resync'] as const

const WORDS = {
  known: ['show', ...VERBS],
  a: 'a command of signer',
  asks: 'Say what to do.',
  fix: `write show, ${VERBS.join(', ')}`,
}

/** `rolekeeper signer`: how each signer stands, and what a person may do about one. */
export const signer = command({
  name: 'signer',
  usage: 'show | fill ADDRESS [NONCE] | cancel ADDRESS NONCE | release ADDRESS | resync ADDRESS [--yes]',
  help: `Show how each signer stands, and why one is SAFE; or do something about one. The keeper that runs says what it would
do, and does it with --yes.

  fill     close nonces that nobody holds with no-ops
  cancel   replace an open payload by a no-op
  release  leave SAFE, once what must be proven is proven; where a policy names approvers, with --key of one of them
  resync   set the next nonce to the first that is neither final on the chain nor held

  rolekeeper signer show
  rolekeeper signer release 0x51… --yes`,
  options: {
    ...PLACE,
    ...KEY,
    yes: { help: 'do it, instead of saying what would be done' },
    json: { help: 'print what is shown as JSON, one object a line' },
  },
  argumentsMax: 3,
  run: async ({ yes, json, key, ...given }, [what, address, nonce], io) => {
    if (what === 'show' && address !== undefined)
      throw usageError(`There is no place for "${address}".`, 'write `show`: it shows every signer')
    if (what === 'show') return show(await placeOf(given, io), json === true, io)
    const at = placeText(given)
    const verb = VERBS.find((each) => each === what)
    if (verb === undefined) throw unknownWord(what, WORDS)
    if (address === undefined)
      throw usageError('Say which signer.', `give its address; \`rolekeeper signer show${at}\` has them`)
    if (nonce !== undefined && !/^\d{1,15}$/.test(nonce))
      throw usageError(`"${nonce}" is no nonce.`, 'give a whole number')
    if (verb === 'cancel' && nonce === undefined)
      throw usageError('Say which nonce.', `write \`cancel ${address} NONCE\`; \`show\` has the open ones`)
    const about = nonce === undefined ? {} : { nonce: Number(nonce) }
    const place = await placeOf(given, io)
    const known = await readJournal(place, (journal) => signersOf(journal, place))
    const signer = signerShownAs(address, known?.addresses ?? [], at)
    const isReleased = verb === 'release' && yes === true
    const by = isReleased ? { by: await releasedBy(place, signer, key) } : {}
    const reply = await orderAbout(place, { verb, signer, yes: yes === true, ...about, ...by }, at)
    io.out(yes === true ? `${reply}\n` : `${reply}\nNothing was done; --yes does it.\n`)
    return 0
  },
})

/** How a signer stands, as the journal has it. */
type SignerRow = {
  readonly signer: Address
  readonly nextNonce: number | null
  readonly safe: readonly SafeReason[]
  readonly open: readonly Pick<Slot, 'nonce' | 'state' | 'closing'>[]
}

async function show(place: KeeperPlace, json: boolean, io: Io): Promise<number> {
  const all = await readJournal(place, (journal) => readAll(journal, place))
  if (json) io.out(all.map((each) => `${JSON.stringify(each)}\n`).join(''))
  else io.out(all.length === 0 ? 'No signer yet.\n' : all.map(textOf).join('\n'))
  return 0
}

/** A chain and signers on it. */
type ChainSigners = { readonly chainId: number; readonly addresses: readonly Address[] }

/** Of a fleet, those of its configuration: each instance holds but some. */
async function signersOf(journal: JournalReads, { shared }: KeeperPlace): Promise<ChainSigners | null> {
  if (shared !== undefined) return { chainId: shared.chainId, addresses: shared.signers }
  const { SIGNERS_KEY } = await import('../../keeper/records/records.ts')
  const text = await journal.getValue(SIGNERS_KEY)
  return text === null ? null : JSON.parse(text)
}

async function readAll(journal: JournalReads, place: KeeperPlace): Promise<readonly SignerRow[]> {
  const known = await signersOf(journal, place)
  if (known === null) return []
  const { chainId, addresses } = known
  const slots = (await journal.live()).flatMap((workflow) => workflow.slots)
  return Promise.all(
    addresses.map(async (address) => ({
      signer: address,
      nextNonce: await journal.nextNonce(chainId, address),
      safe: await readSafe(journal, chainId, address),
      open: slots
        .filter((slot) => slot.signer === address && slot.state !== 'final')
        .toSorted((a, b) => a.nonce - b.nonce)
        .map(({ nonce, state, closing }) => ({
          nonce,
          state,
          ...(closing === undefined ? {} : { closing }),
        })),
    })),
  )
}

const textOf = ({ signer: address, nextNonce, safe, open }: SignerRow): string =>
  [
    `${address}  ${safe.length === 0 ? 'at work' : 'SAFE'}  next nonce ${nextNonce ?? 'not known'}`,
    ...safe.flatMap((reason) => [
      `  ${reason.check} since ${new Date(reason.atMs).toISOString()}: ${reason.message}`,
      `    seen: ${reason.seen}`,
      `    to leave: ${wayOut(address, reason)}`,
    ]),
    ...open.map(({ nonce, state, closing }) =>
      `  nonce ${nonce}  ${state}${closing === undefined ? '' : `  closing: ${closing}`}`.trimEnd(),
    ),
    '',
  ].join('\n')

/** Say who releases a signer: from the reasons that the journal has now. Throws what reading a key throws. */
async function releasedBy(place: KeeperPlace, signer: Address, key: string | undefined): Promise<Identity> {
  const person = key === undefined ? null : readPersonKey(key)
  return readJournal(place, async (journal) => {
    const { chainId } = (await signersOf(journal, place)) ?? { chainId: 0 }
    const reasons = await readSafe(journal, chainId, signer)
    return identify(releaseText(chainId, signer, hashOfReasons(reasons)), person)
  })
}

/** Give an order to the keeper that runs, and wait for its reply. Throws `order.refused` and `order.not_taken`. */
const orderAbout = (place: KeeperPlace, given: SignerOrder, at: string): Promise<string> =>
  order(place, async ({ mail }) => {
    const placed = await mail.orderAbout(randomUUID(), given)
    try {
      return (await replyTo(placed, mail, at)).said
    } finally {
      await placed.withdraw().catch(() => undefined)
    }
  })
