import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { RolekeeperError } from '../errors.ts'
import type { InstanceOverview } from '../fleet/overview.ts'
import type { Switch } from '../ops/control.ts'
import { type Command, command, type Io } from './command.ts'
import { duration } from './format.ts'
import { DEFAULT_DIRECTORY } from './options.ts'
import { type FleetPlace, type GivenPlace, isFleet, PLACE, placeOf } from './place.ts'

/** What a switch command is. */
type Parts = {
  readonly name: string
  readonly switch: Switch
  readonly on: boolean
  readonly help: string
  readonly done: string
}

/** Make the command that turns the kill switch or the pause of a keeper or a whole fleet on or off. */
export const switchCommand = (parts: Parts): Command =>
  command({
    name: parts.name,
    usage: '[--config FILE | --directory DIR]',
    help: `${parts.help}

Of a fleet it goes to every instance, from any machine; this machine obeys first, also where Redis cannot be reached.`,
    options: PLACE,
    argumentsMax: 0,
    run: async (given, _args, io) => {
      const { setControl } = await import('../ops/control.ts')
      const { directory } = given
      // Before anything that may fail: what says which fleet it is may be gone.
      if (parts.on && given.config === undefined) {
        setControl(directory ?? DEFAULT_DIRECTORY, parts.switch, true)
      }
      const place = await placeAfter(parts, given, io)
      if (isFleet(place)) return switchAll(parts, place, io)
      setControl(place.directory, parts.switch, parts.on)
      io.out(`${parts.done}\n`)
      return 0
    },
  })

const DONE = { kill: 'killed', pause: 'paused' } as const

async function placeAfter({ on, switch: which }: Parts, given: GivenPlace, io: Io) {
  try {
    return await placeOf(given, io)
  } catch (error) {
    if (on && given.config === undefined)
      io.err(`This machine is ${DONE[which]}; its fleet is not, as it was not found.\n`)
    throw error
  }
}

async function switchAll(parts: Parts, place: FleetPlace, io: Io): Promise<number> {
  const { setControl } = await import('../ops/control.ts')
  const { fleet } = place.shared.store
  const isHere = existsSync(place.directory)
  if (parts.on && isHere) setControl(place.directory, parts.switch, true)
  const { author } = await import('./author.ts')
  const { switchFleet } = await import('../fleet/switches.ts')
  const { openCommandLine } = await import('../journal/redis/command-line.ts')
  const line = openCommandLine(place.shared.store)
  try {
    const directory = isHere ? place.directory : null
    await switchFleet(parts.switch, parts.on, author(), { directory, store: line })
    io.out(`${parts.done}\n`)
    const { readFleetInstances } = await import('../fleet/overview.ts')
    await sayWhoObeys(parts, place, () => readFleetInstances(place.shared, [], line), io)
    return 0
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    const here = isHere
      ? `This machine ${parts.on ? 'is' : 'stays as it was, perhaps'} ${DONE[parts.switch]}`
      : 'There is no keeper on this machine'
    io.err(`${here}; the fleet ${fleet} was not reached.\n`)
    throw error
  } finally {
    line.close()
  }
}

/** An instance shows itself eight times in a lease; it has heard of it by the second. */
async function sayWhoObeys(
  { on, switch: which }: Parts,
  { shared: { leaseMs } }: FleetPlace,
  read: () => Promise<readonly InstanceOverview[]>,
  io: Io,
): Promise<void> {
  const isObeying = (each: InstanceOverview) => each[DONE[which]] === on
  let all = await read()
  for (let waitedMs = 0; waitedMs < leaseMs / 2; waitedMs += leaseMs / 16) {
    if (all.filter(({ isSilent }) => !isSilent).every(isObeying)) break
    await setTimeout(leaseMs / 16)
    all = await read()
  }
  const living = all.filter(({ isSilent }) => !isSilent)
  const names = living.filter(isObeying).map(({ name }) => name)
  if (names.length > 0) io.out(`Heard by ${names.join(', ')}.\n`)
  for (const { name, seenMsAgo } of all.filter(({ isSilent }) => isSilent)) {
    io.err(
      seenMsAgo === null
        ? `${name} was never heard of, or has left: it obeys when it starts.\n`
        : `Not heard by ${name}, last heard of ${duration(seenMsAgo)} ago: where it runs, give the command on its machine too.\n`,
    )
  }
  for (const { name } of living.filter((each) => !isObeying(each))) {
    io.err(
      on
        ? `Not yet heard by ${name}.\n`
        : `Still ${DONE[which]} at ${name}: by a file of its own machine, where the same command removes it.\n`,
    )
  }
}
