import { RolekeeperError } from '../../errors.ts'
import { command } from '../parse/command.ts'
import { keeperThere } from '../target/keeper-there.ts'
import { PLACE, placeOf } from '../target/place.ts'

/** `rolekeeper console`: a link that opens the page of a keeper. */
export const console = command({
  name: 'console',
  usage: '[--config FILE | --directory DIR]',
  help: `Print a link to the console of a keeper that runs on this machine: one page that shows what it does, why, and what
waits for you. The link opens it once, within ten minutes; the session it begins lasts twelve hours. From elsewhere, reach it
through SSH: docs/console.md.

  rolekeeper console --directory .rolekeeper`,
  options: PLACE,
  argumentsMax: 0,
  run: async (given, _args, io) => {
    const { directory } = await placeOf(given, io)
    keeperThere(directory)
    const { linkOf, readPlace } = await import('../../ops/console/access.ts')
    const { isThere } = await import('../../ops/console/is-there.ts')
    const { author } = await import('../target/author.ts')
    const place = readPlace(directory)
    if (place === null || !(await isThere(place.url))) {
      throw new RolekeeperError('console.absent', `No keeper in ${directory} shows a console now.`, {
        fix: 'start it with `console: { port: "9466" }` in its run configuration, or name its directory with --directory.',
      })
    }
    const { by, atMs } = author()
    io.out(`${linkOf(place, by, atMs)}\n`)
    return 0
  },
})
