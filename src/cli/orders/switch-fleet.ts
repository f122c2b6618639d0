import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { RolekeeperError } from '../../errors.ts'
import type { InstanceOverview } from '../../fleet/overview.ts'
import { type Switch, setControl } from '../../ops/control.ts'
import { span } from '../../readable.js'
import type { Io } from '../parse/command.ts'
import { EXIT } from '../parse/exit-codes.ts'
import type { FleetPlace } from '../target/place.ts'

/** A command to pull a switch or take it back, as it was given. */
export type Order = {
  readonly name: string
  readonly switch: Switch
  readonly on: boolean
  readonly role: string | undefined
  readonly by: string
  readonly atMs: number
  readonly reason: string | null
  readonly done: string
}

/** What a machine does that obeys. */
export const DONE = { kill: 'killed', pause: 'paused' } as const

/** Turn a switch of a whole fleet on or off, and say who has heard of it. @returns the exit code. */
export async function switchAll(order: Order, place: FleetPlace, json: boolean, io: Io): Promise<number> {
  const { fleet } = place.shared.store
  const isHere = existsSync(place.directory)
  if (order.on && isHere) setControl(place.directory, order.switch, true, order)
  const { switchFleet } = await import('../../fleet/switches.ts')
  const { openCommandLine } = await import('../../journal/redis/link/command-line.ts')
  const line = openCommandLine(place.shared.store)
  const { name, switch: which, on, role, by, atMs, reason, done } = order
  try {
    const directory = isHere ? place.directory : null
    const seq = await switchFleet(which, on, { by, atMs, reason, role }, { directory, store: line })
    if (!json) io.out(`${done}\n`)
    const { readFleetInstances } = await import('../../fleet/overview.ts')
    const heard = await whoObeys(order, seq, place, () => readFleetInstances(place.shared, [], line))
    if (json) {
      const what = { verb: name, role: role ?? null, by, at: new Date(atMs).toISOString(), reason, fleet }
      const names = Object.entries(heard).map(([how, of]) => [how, of.map((each) => each.name)])
      io.out(`${JSON.stringify({ ...what, ...Object.fromEntries(names) })}\n`)
    } else sayWhoObeys(order, heard, io)
    return EXIT.done
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    const here = isHere
      ? `This machine ${on ? 'is' : 'stays as it was, perhaps'} ${DONE[which]}`
      : 'There is no keeper on this machine'
    io.err(`${here}; the fleet ${fleet} was not reached.\n`)
    throw error
  } finally {
    line.close()
  }
}

/** The instances that heard and obey, that heard and do not, that have not heard yet, and that were not heard of. */
type Heard = Readonly<Record<'heardBy' | 'otherwiseBy' | 'notYetBy' | 'silent', readonly InstanceOverview[]>>

/** How often it is looked who has heard, ms. */
const LOOK_MS = 100

/**
 * What an instance shows counts once it has heard of the sequence `seq`: before, it may show the state that is wanted and be
 * about to leave it. It shows itself eight times in a lease, and has heard by the second; one that has not shown itself for a
 * lease and a second is silent.
 */
async function whoObeys(
  { on, switch: which, role }: Order,
  seq: number,
  { shared: { leaseMs } }: FleetPlace,
  read: () => Promise<readonly InstanceOverview[]>,
): Promise<Heard> {
  const isOn = (each: InstanceOverview) =>
    role === undefined ? each[DONE[which]] : each.pausedRoles.includes(role)
  const hasHeard = ({ heardSeq }: InstanceOverview) => heardSeq !== null && heardSeq >= seq
  let all = await read()
  // Redis's clock is read in whole seconds.
  for (let waitedMs = 0; waitedMs < leaseMs + 2_000; waitedMs += LOOK_MS) {
    if (all.every((each) => each.isSilent || hasHeard(each))) break
    await setTimeout(LOOK_MS)
    all = await read()
  }
  const living = all.filter(({ isSilent }) => !isSilent)
  const heard = living.filter(hasHeard)
  return {
    heardBy: heard.filter((each) => isOn(each) === on),
    otherwiseBy: heard.filter((each) => isOn(each) !== on),
    notYetBy: living.filter((each) => !hasHeard(each)),
    silent: all.filter(({ isSilent }) => isSilent),
  }
}

function sayWhoObeys({ on, switch: which }: Order, heard: Heard, io: Io): void {
  const { heardBy, otherwiseBy, notYetBy, silent } = heard
  if (heardBy.length > 0) io.out(`Heard by ${heardBy.map(({ name }) => name).join(', ')}.\n`)
  for (const { name, seenMsAgo } of silent) {
    io.err(
      seenMsAgo === null
        ? `${name} was never heard of, or has left: it obeys when it starts.\n`
        : `Not heard by ${name}, last heard of ${span(seenMsAgo)} ago: where it runs, give the command on its machine too.\n`,
    )
  }
  for (const { name } of notYetBy) io.err(`Not yet heard by ${name}.\n`)
  for (const { name } of otherwiseBy) {
    io.err(
      on
        ? `Not ${DONE[which]} at ${name}: somebody has taken it back since.\n`
        : `Still ${DONE[which]} at ${name}: by a file of its own machine, where the same command removes it.\n`,
    )
  }
}
