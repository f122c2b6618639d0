import { switchCommand } from '../switch-command.ts'

/** `rolekeeper pause`: begin nothing new. */
export const pause = switchCommand({
  name: 'pause',
  switch: 'pause',
  on: true,
  help: 'Begin nothing new. What is in flight is still signed, bumped and closed. It holds over a restart, until `resume`.',
  done: 'Paused: nothing new begins. Take it back with: rolekeeper resume',
})
