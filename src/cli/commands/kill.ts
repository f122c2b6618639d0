import { switchCommand } from '../orders/switch-command.ts'

/** `rolekeeper kill`: sign nothing and send nothing new. */
export const kill = switchCommand({
  name: 'kill',
  switch: 'kill',
  on: true,
  help: `Ask the KMS for nothing and send nothing for the first time, from the next instruction on. What is public already is
still followed and sent again. It holds over a restart, until \`unkill\`.`,
  done: (_role, at) =>
    `Killed: nothing is signed and nothing new is sent. Take it back with: rolekeeper unkill${at}`,
})
