import { switchCommand } from '../orders/switch-command.ts'

/** `rolekeeper unkill`: take a kill back. */
export const unkill = switchCommand({
  name: 'unkill',
  switch: 'kill',
  on: false,
  help: 'Take a kill back.',
  done: () => 'The kill is taken back.',
})
