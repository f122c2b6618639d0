import { switchCommand } from '../orders/switch-command.ts'

/** `rolekeeper resume`: take a pause back. */
export const resume = switchCommand({
  name: 'resume',
  switch: 'pause',
  on: false,
  help: `Take a pause back: that of all roles, or with ROLE the one that was given for that role.

  rolekeeper resume liquidator`,
  done: (role) => (role === undefined ? 'Resumed.' : `Resumed: the ${role}.`),
})
