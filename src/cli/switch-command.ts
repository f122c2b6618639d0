import type { Switch } from '../ops/control.ts'
import { type Command, command } from './command.ts'
import { DEFAULT_DIRECTORY, DIRECTORY } from './options.ts'

/** Make the command that turns the kill switch or the pause of a directory on or off, and says what that means. */
export const switchCommand = (parts: {
  readonly name: string
  readonly switch: Switch
  readonly on: boolean
  readonly help: string
  readonly done: string
}): Command =>
  command({
    name: parts.name,
    usage: '[--directory DIR]',
    help: parts.help,
    options: { directory: DIRECTORY },
    argumentsMax: 0,
    run: async ({ directory = DEFAULT_DIRECTORY }, _args, io) => {
      const { setControl } = await import('../ops/control.ts')
      setControl(directory, parts.switch, parts.on)
      io.out(`${parts.done}\n`)
      return 0
    },
  })
