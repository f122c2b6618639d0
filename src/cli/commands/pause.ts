import { switchCommand } from '../orders/switch-command.ts'

const of = (role: string | undefined) => (role === undefined ? '' : ` ${role}`)

/** `rolekeeper pause`: begin nothing new. */
export const pause = switchCommand({
  name: 'pause',
  switch: 'pause',
  on: true,
  help: `Begin nothing new, of all roles or of ROLE. What is in flight is still signed, bumped and closed. It holds over a
restart, until \`resume\`.

  rolekeeper pause
  rolekeeper pause liquidator --reason "the oracle is late"`,
  done: (role, at) =>
    `Paused: ${role === undefined ? 'nothing new begins' : `the ${role} begins nothing new`}. Take it back with: rolekeeper resume${of(role)}${at}`,
})
