import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { printable } from '../../errors.ts'
import { type ActiveSwitch, readControl, type Switch, setControl } from '../../ops/control.ts'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import { type Command, command, type Io, usageError } from '../parse/command.ts'
import { EXIT } from '../parse/exit-codes.ts'
import { author } from '../target/author.ts'
import { checkRole, keeperThere, rolesOf } from '../target/keeper-there.ts'
import { type GivenPlace, isFleet, PLACE, placeOf, placeText } from '../target/place.ts'
import { DONE, type Order, switchAll } from './switch-fleet.ts'

/** What a switch command is. */
type SwitchSpec = {
  readonly name: string
  readonly switch: Switch
  readonly on: boolean
  readonly help: string
  /** What it comes to, of all roles or of one; `at` leads a command to the same place. */
  readonly done: (role: string | undefined, at: string) => string
}

const REASON_MAX = 500

/** Make the command that turns the kill switch or the pause of a keeper or a whole fleet on or off. */
export const switchCommand = (parts: SwitchSpec): Command =>
  command({
    name: parts.name,
    usage: `${parts.switch === 'pause' ? '[ROLE] ' : ''}[--reason TEXT] [--config FILE | --directory DIR] [--json]`,
    help: `${parts.help}

Who gave it, when and why stands in the keeper's directory, and the keeper says so within a second. Where no keeper runs
it is written all the same, holds for the next start, and exits with ${EXIT.noKeeper}. Of a fleet it goes to every instance, from any
machine; this machine obeys first, also where Redis cannot be reached.`,
    options: {
      ...PLACE,
      reason: { help: 'why; it is kept with who and when', value: 'TEXT' },
      json: { help: 'print what was done as JSON' },
    },
    argumentsMax: parts.switch === 'pause' ? 1 : 0,
    run: async ({ reason, json, ...given }, [role], io) => {
      if (reason !== undefined && (reason === '' || reason.length > REASON_MAX))
        throw usageError(
          `--reason has ${reason.length} characters.`,
          `say why in 1 to ${REASON_MAX} characters`,
        )
      const { name, switch: which, on } = parts
      const done = parts.done(role, placeText(given))
      const order: Order = { name, switch: which, on, role, ...author(), reason: reason ?? null, done }
      return give(order, given, json === true, io)
    },
  })

async function give(order: Order, given: GivenPlace, json: boolean, io: Io): Promise<number> {
  // Before anything that may fail: what says which fleet it is may be gone.
  const here = given.config === undefined ? (given.directory ?? DEFAULT_DIRECTORY) : undefined
  const before = here === undefined ? [] : readControl(here).pulled
  if (here !== undefined) {
    const isOfFleet = existsSync(join(here, 'fleet.json'))
    const there = keeperThere(here)
    // What a fleet staffs is in its configuration.
    checkRole(order.role, isOfFleet ? null : rolesOf(there))
    if (order.on) setControl(here, order.switch, true, order)
  }
  const place = await placeOf(given, io).catch((error: unknown) => {
    if (order.on && here !== undefined)
      io.err(`This machine is ${DONE[order.switch]}; its fleet is not, as it was not found.\n`)
    throw error
  })
  if (isFleet(place)) {
    const staffed = place.shared.seats.flatMap(({ roles }) => roles)
    checkRole(order.role, staffed)
    return switchAll(order, place, json, io)
  }
  const there = keeperThere(place.directory)
  checkRole(order.role, rolesOf(there))
  const was = here === undefined ? readControl(place.directory).pulled : before
  if (here === undefined || !order.on) setControl(place.directory, order.switch, order.on, order)
  say(order, { directory: place.directory, was, isThere: there.state === 'running' }, json, io)
  return there.state === 'running' ? EXIT.done : EXIT.noKeeper
}

const mineIn = (was: readonly ActiveSwitch[], { switch: which, role }: Order) =>
  was.find((each) => each.switch === which && each.role === role)

type Result = {
  readonly directory: string
  /** What was on before. */
  readonly was: readonly ActiveSwitch[]
  readonly isThere: boolean
}

function say(order: Order, { directory, was, isThere }: Result, json: boolean, io: Io): void {
  const { name, switch: which, on, role, by, atMs, reason, done } = order
  const mine = mineIn(was, order)
  const still = readControl(directory).pulled.filter((each) => each.switch !== which || each.role !== role)
  if (json) {
    const at = new Date(atMs).toISOString()
    const what = { verb: name, role: role ?? null, by, at, reason, directory, isKeeperRunning: isThere }
    const changed = on !== (mine !== undefined)
    io.out(`${JSON.stringify({ ...what, changed, was: mine ?? null, stillOn: still })}\n`)
    return
  }
  const nothing = mine === undefined && !on
  io.out(`${nothing ? `It was not ${DONE[which]}${role === undefined ? '' : `: the ${role}`}.` : done}\n`)
  if (mine !== undefined) io.out(`It was ${on ? 'already ' : ''}${textOf(mine)}.\n`)
  for (const each of still) io.out(`Still ${textOf(each)}.\n`)
  if (!isThere) {
    const holds = on ? 'this holds for its next start' : 'it starts without it'
    io.err(`No keeper runs in ${printable(directory)} now: ${holds}.\n`)
  }
}

/** Write what is on: of whom, by whom, since when and why. Pure. */
const textOf = ({ switch: which, role, by, atMs, reason }: ActiveSwitch): string =>
  [
    DONE[which],
    ...(role === undefined ? [] : [`for the ${role}`]),
    `by ${printable(by ?? 'somebody, by hand,')}`,
    `since ${new Date(atMs).toISOString()}`,
    ...(reason === null ? [] : [`(${printable(reason, REASON_MAX)})`]),
  ].join(' ')
