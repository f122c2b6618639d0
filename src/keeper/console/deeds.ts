import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { approvalHash } from '../../guard/approval/approval.ts'
import type { Deed } from '../../ops/console/server.ts'
import { setControl } from '../../ops/control.ts'
import { writeAnswer } from '../../ops/orders.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'

/** The switches, by what people say; of one role alone only the pause is. */
const SWITCHES = {
  pause: { which: 'pause', on: true, said: 'Paused' },
  resume: { which: 'pause', on: false, said: 'Resumed' },
  kill: { which: 'kill', on: true, said: 'Killed: nothing is signed' },
  unkill: { which: 'kill', on: false, said: 'The kill is taken back' },
} as const

type DeedDeps = {
  readonly config: Pick<RunConfig, 'directory' | 'fleet' | 'agents'>
  readonly live: () => readonly Workflow[]
  readonly nowMs: () => number
}

/**
 * Do what a person says at the console, by the files that the command line writes too. Throws RolekeeperError `console.fleet`,
 * `console.no_role`, `console.not_held`, `console.other_hash`, `console.approvers`, and what writing throws.
 */
export function doDeed(deed: Deed, by: string, { config, live, nowMs }: DeedDeps): string {
  const { directory, fleet, agents } = config
  if (fleet !== undefined) {
    throw new RolekeeperError('console.fleet', 'In a fleet, the console shows and does not act.', {
      fix: `give the command, which goes to every instance: rolekeeper ${deed.verb} --config FILE`,
    })
  }
  if (deed.verb !== 'approve' && deed.verb !== 'reject') {
    const { which, on, said } = SWITCHES[deed.verb]
    const role = 'role' in deed ? deed.role : undefined
    const staffed: readonly string[] = [...new Set(agents.map((agent) => agent.role))]
    if (role !== undefined && !staffed.includes(role)) {
      throw new RolekeeperError('console.no_role', `${role} is no role of this keeper.`, {
        fix: `it staffs ${staffed.join(', ')}.`,
      })
    }
    const reason = deed.reason === '' ? null : deed.reason
    setControl(directory, which, on, { role, by, atMs: nowMs(), reason })
    return role === undefined ? `${said}.` : `${said}: the ${role}.`
  }
  const { verb, id, hash } = deed
  const workflow = live().find((one) => one.id === id)
  const { hold } = workflow ?? {}
  if (workflow === undefined || hold === undefined || !isHeld(workflow) || nowMs() >= hold.untilMs) {
    throw new RolekeeperError('console.not_held', `Workflow ${id} does not wait for a person any more.`, {
      fix: 'look at what waits now.',
    })
  }
  if (hold.hash !== hash || approvalHash(workflow, hold) !== hash) {
    throw new RolekeeperError('console.other_hash', `What waits as ${id} is not what was shown.`, {
      fix: 'read it again: it was asked anew under other rules.',
    })
  }
  if (hold.shown.approvers !== null) {
    throw new RolekeeperError('console.approvers', 'Its policy names who may answer it.', {
      fix: `one of them gives the command: rolekeeper ${verb} ${id.slice(0, 8)} --hash ${hash}`,
    })
  }
  writeAnswer(directory, id, { verdict: verb, hash, by: { user: by } })
  return verb === 'approve' ? 'Approved.' : 'Rejected.'
}
