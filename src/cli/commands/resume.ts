import { switchCommand } from '../switch-command.ts'

/** `rolekeeper resume`: take a pause back. */
export const resume = switchCommand({
  name: 'resume',
  switch: 'pause',
  on: false,
  help: 'Take a pause back.',
  done: 'Resumed.',
})
