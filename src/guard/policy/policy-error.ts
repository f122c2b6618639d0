import { RolekeeperError } from '../../errors.ts'

/** Say what is wrong with a policy's guard sections: the path, the value and the fix. Pure. */
export const policyError = (path: string, problem: string, fix: string): RolekeeperError =>
  new RolekeeperError('policy.guard_invalid', `${path}: ${problem}`, { fix, facts: { path } })
