import type { Address } from 'viem'
import { printable } from '../../errors.ts'
import type { FleetDoubt } from '../../fleet/doubts.ts'
import type { Evidence } from '../../fleet/evidence.ts'
import type { Check } from '../../fleet/safe-proof.ts'
import type { Author } from '../../fleet/switches.ts'
import type { LeavePlan } from '../../keeper/signer/leave-safe.ts'
import { type SafeReason, wayOut } from '../../pipeline/transactions/safe.ts'
import { native, plural } from '../../readable.js'
import { signerShownAs } from '../orders/find-signer.ts'
import { command, type Io, usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { author } from '../target/author.ts'
import { type FleetPlace, fleetAt, PLACE, placeText } from '../target/place.ts'

/** `rolekeeper safe`: which signers of a fleet are SAFE, why, and the way out. */
export const safe = command({
  name: 'safe',
  usage: '[leave SIGNER [--gone NAME,NAME] [--yes]] [--config FILE | --directory DIR] [--json]',
  help: `Show which signers of a fleet are SAFE, why, and what must be proven to leave it. \`leave\` shows each proof for one
signer and what was seen of it, says what it would do, and does it with --yes: a signer that Redis had forgotten may then
be held again, in a generation that follows the one that is lost.

Give it where an instance runs: its configuration, its environment and its directory are needed to prove anything.

  rolekeeper safe --config config/production.yaml
  rolekeeper safe leave 0x51… --config config/production.yaml
  rolekeeper safe leave 0x51… --gone b --yes --config config/production.yaml`,
  options: {
    ...PLACE,
    gone: { help: 'instances that have ended for good and whose credentials are revoked', value: 'NAMES' },
    yes: { help: 'do it, instead of saying what would be done' },
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 2,
  run: async ({ gone, yes, json, ...given }, [what, signer], io) => {
    const at = placeText(given)
    if (what !== undefined && what !== 'leave')
      throw usageError(
        `There is no place for "${printable(what)}".`,
        `${perhaps(what, ['leave'])}write \`safe\` or \`safe leave SIGNER\``,
      )
    if (what === undefined && (gone !== undefined || yes === true))
      throw usageError('There is nothing to do.', 'write `safe leave SIGNER`')
    if (what === 'leave' && signer === undefined)
      throw usageError('Say which signer.', `give its address; \`rolekeeper safe${at}\` has them`)
    const place = await fleetAt(given, io)
    if (signer === undefined) return show({ place, at, json: json === true }, io)
    const names = (gone ?? '').split(',').filter((name) => name !== '')
    const stranger = names.find((name) => !place.shared.roster.includes(name))
    if (stranger !== undefined)
      throw usageError(
        `No instance is called ${stranger}.`,
        `give names of ${place.shared.roster.join(', ')}`,
      )
    return leave(
      place,
      {
        signer: signerShownAs(signer, place.shared.signers, at),
        gone: names,
        yes: yes === true,
        json: json === true,
        at,
      },
      io,
    )
  },
})

/** Why one signer is SAFE, as `rolekeeper safe --json` prints it. */
type SafeSigner = {
  readonly signer: string
  readonly roles: readonly string[]
  /** By a file of this machine, or by what Redis has forgotten as this machine's instance knows it. */
  readonly here: FleetDoubt | null
  /** By what is set for the fleet. */
  readonly fleet: (FleetDoubt & Author) | null
  /** By the journal: `rolekeeper signer` is about those. */
  readonly journal: readonly SafeReason[]
}

type Showing = { readonly place: FleetPlace; readonly at: string; readonly json: boolean }

async function show({ place, at, json }: Showing, io: Io): Promise<number> {
  const { signers, evidence } = await readSafeSigners(place).catch(async (error: unknown) => {
    // What this machine knows needs no Redis.
    for (const [seat, doubt] of await readSafeHere(place))
      io.err(`${seat} is SAFE on this machine (${doubt.check}): ${doubt.message}\n`)
    throw error
  })
  const all = signers.filter(isSafe)
  if (json) io.out(all.map((each) => `${JSON.stringify(each)}\n`).join(''))
  else {
    if (evidence.forgotten !== null) io.out(`${evidence.forgotten}\n`)
    io.out(all.length === 0 ? 'No signer is SAFE.\n' : all.map((each) => textOf(each, at)).join('\n'))
  }
  return 0
}

const isSafe = ({ here, fleet, journal }: SafeSigner) => here !== null || fleet !== null || journal.length > 0

async function readSafeHere({ shared, directory }: FleetPlace) {
  const { readSafeFile } = await import('../../fleet/doubts.ts')
  return shared.seats.flatMap(({ name }) => {
    const doubt = readSafeFile(directory, name)
    return doubt === null ? [] : [[name, doubt] as const]
  })
}

async function readSafeSigners(
  place: FleetPlace,
): Promise<{ readonly signers: readonly SafeSigner[]; readonly evidence: Evidence }> {
  const { amnesiaOf, readSafeFile, safeSeats } = await import('../../fleet/doubts.ts')
  const { readEvidence } = await import('../../fleet/evidence.ts')
  const { openCommandLine } = await import('../../journal/redis/link/command-line.ts')
  const { createRedisReads } = await import('../../journal/redis/records/reads.ts')
  const { readSafe } = await import('../../pipeline/transactions/safe.ts')
  const { shared } = place
  const line = openCommandLine(shared.store, false)
  try {
    const evidence = await readEvidence(evidencePlaceOf(place), line)
    const reads = createRedisReads(line)
    const set = safeSeats(evidence.controls)
    const live = shared.seats.filter(({ name }) => !name.startsWith('shadow:'))
    const found = evidence.forgotten === null ? null : amnesiaOf(evidence.forgotten)
    const signers = live.map(async ({ name, roles }) => ({
      signer: name,
      roles,
      here: readSafeFile(place.directory, name) ?? found,
      fleet: set.find(({ seat }) => seat === name) ?? null,
      journal: await readSafe(reads, shared.chainId, name as Address),
    }))
    return { signers: await Promise.all(signers), evidence }
  } finally {
    line.close()
  }
}

const evidencePlaceOf = ({ shared, directory, instance }: FleetPlace) => ({
  store: shared.store,
  directory,
  instance,
})

function textOf({ signer, roles, here, fleet, journal }: SafeSigner, at: string): string {
  const doubts = [
    ...(here === null ? [] : [{ ...here, by: 'this machine' }]),
    ...(fleet === null ? [] : [{ ...fleet, by: `${fleet.by}, ${new Date(fleet.atMs).toISOString()}` }]),
  ]
  return [
    `${signer}  ${roles.join(', ')}  SAFE`,
    ...doubts.flatMap(({ check, message, seen, by }) => [
      `  ${check}, by ${by}: ${message}`,
      `    seen: ${seen}`,
      `    to leave: \`rolekeeper safe leave ${signer}${at}\` shows what must be proven`,
    ]),
    ...journal.flatMap((reason) => [
      `  ${reason.check} since ${new Date(reason.atMs).toISOString()}: ${reason.message}`,
      `    seen: ${reason.seen}`,
      `    to leave: ${wayOut(signer as Address, reason)}`,
    ]),
    '',
  ].join('\n')
}

/** What a person asks for. */
type LeaveSafeOptions = {
  readonly signer: string
  readonly gone: readonly string[]
  readonly yes: boolean
  readonly json: boolean
  /** What leads a command to the same place. */
  readonly at: string
}

async function leave(place: FleetPlace, asked: LeaveSafeOptions, io: Io): Promise<number> {
  const { signer, gone, yes, json, at } = asked
  const { openRunConfig } = await import('../../config/config.ts')
  const { isWellKnown } = await import('../../sign/well-known.ts')
  const { planToLeave } = await import('../../keeper/signer/leave-safe.ts')
  const { forgetSafe } = await import('../../fleet/doubts.ts')
  const { signers } = await readSafeSigners(place)
  const found = signers.find((each) => each.signer === signer)
  if (found === undefined)
    throw usageError(`${signer} signs for no live agent of this fleet.`, `see: rolekeeper fleet${at}`)
  if (found.here === null && found.fleet === null && gone.length === 0) return nothingToLeave(found, io)
  const config = await openRunConfig(place.file, { env: io.env, isWellKnown })
  const { shared } = place
  const plan = await planToLeave(config, {
    seat: signer,
    gone,
    author: author(),
    roster: shared.roster,
    place: evidencePlaceOf(place),
    seats: signers.map((each) => each.signer),
  })
  const isProven = plan.checks.every((check) => check.isProven)
  if (json) io.out(`${JSON.stringify(jsonOf(signer, plan, yes && isProven))}\n`)
  else io.out(planText(asked, plan))
  if (!isProven) {
    io.err(`${signer} stays SAFE: not all is proven.\n`)
    return 1
  }
  if (yes) {
    await plan.act()
    forgetSafe(place.directory, signer)
  }
  if (!json) io.out(yes ? 'Done.\n' : 'Nothing was done; --yes does it.\n')
  return 0
}

function nothingToLeave({ signer, journal }: SafeSigner, io: Io): number {
  const ways = journal.map((reason) => `  ${reason.check}: ${wayOut(signer as Address, reason)}\n`).join('')
  io.out(
    journal.length === 0
      ? `${signer} is not SAFE.\n`
      : `${signer} is SAFE by its journal alone, and its holder takes the way out:\n${ways}`,
  )
  return 1
}

const jsonOf = (signer: string, { act: _act, adopted, ...plan }: LeavePlan, isDone: boolean) => ({
  signer,
  ...plan,
  adopted: adopted.map(({ gasWei, ...each }) => ({ ...each, gasWei: String(gasWei) })),
  isDone,
})

const checkLines = ({ what, isProven, seen, fix }: Check): readonly string[] => [
  `  ${isProven ? 'yes' : 'NO '}  ${what}: ${seen}`,
  ...(fix === undefined ? [] : [`       ${fix}`]),
]

const ADOPTED_SHOWN = 20

function planText({ signer, gone, at }: LeaveSafeOptions, plan: LeavePlan): string {
  const { checks, adopted, adoptedOfOthers, gap, begins, generation, forgotten } = plan
  const more = adopted.length - ADOPTED_SHOWN
  const does = [
    ...(begins
      ? [`begins a generation that follows ${generation === '' ? 'the one that is lost' : generation}`]
      : []),
    ...(begins ? ['leaves every other signer SAFE, until the same is proven for it'] : []),
    ...gone.map((name) => `takes ${name} out of the fleet: remove it from \`fleet.roster\` too`),
    ...(adopted.length === 0
      ? []
      : [
          `counts ${plural(adopted.length, 'transaction')} in the budgets of each role of it, at most of what one may move`,
        ]),
    ...(adoptedOfOthers === 0
      ? []
      : [
          `counts ${plural(adoptedOfOthers, 'transaction')} of other signers in the budgets of theirs, likewise`,
        ]),
    ...(gap === null
      ? [`lets ${signer} sign again`]
      : [
          `lets ${signer} close nonces ${gap.from} to ${gap.to} with no-ops, for which something forgotten may have been signed, and nothing else until \`rolekeeper signer release ${signer} --yes${at}\``,
        ]),
    ...(forgotten === null
      ? []
      : ['kill and pause of the fleet are gone with the rest: give them again where they were on']),
  ]
  return [
    `${signer}: what must be proven`,
    ...checks.flatMap(checkLines),
    ...adopted
      .slice(0, ADOPTED_SHOWN)
      .map(
        ({ nonce, hash, atMs, gasWei, reverted }) =>
          `       nonce ${nonce}  ${hash}  ${new Date(atMs).toISOString()}  ${native(BigInt(gasWei))}${reverted ? '  reverted' : ''}`,
      ),
    ...(more > 0 ? [`       and ${more} more; --json has all`] : []),
    'What it does:',
    ...does.map((each) => `  - ${each}`),
    '',
  ].join('\n')
}
