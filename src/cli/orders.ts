import type { Order } from '../ops/control.ts'
import { command, DEFAULT_DIRECTORY, DIRECTORY } from './command.ts'

const order = (name: string, file: Order, given: boolean, help: string, done: string) =>
  command({
    name,
    usage: '[--directory DIR]',
    help,
    options: { directory: DIRECTORY },
    argumentsMax: 0,
    run: async ({ directory = DEFAULT_DIRECTORY }, _args, io) => {
      const { setControl } = await import('../ops/control.ts')
      setControl(directory, file, given)
      io.out(`${done}\n`)
      return 0
    },
  })

export const pause = order(
  'pause',
  'pause',
  true,
  'Begin nothing new. What is in flight is still signed, bumped and closed. It holds over a restart, until `resume`.',
  'Paused: nothing new begins. Take it back with: rolekeeper resume',
)

export const resume = order('resume', 'pause', false, 'Take a pause back.', 'Resumed.')

export const kill = order(
  'kill',
  'kill',
  true,
  `Ask the KMS for nothing and send nothing for the first time, from the next instruction on. What is public already is
still followed and sent again. It holds over a restart, until \`unkill\`.`,
  'Killed: nothing is signed and nothing new is sent. Take it back with: rolekeeper unkill',
)

export const unkill = order('unkill', 'kill', false, 'Take a kill back.', 'The kill is taken back.')
