import type { AgentConfig } from '../../config/config.ts'
import { printable, RolekeeperError } from '../../errors.ts'

/** What is looked at before the first signature, by the name that its row has. */
export type Check =
  | 'configuration'
  | 'clock'
  | 'directory'
  | 'port'
  | 'node'
  | 'quorum'
  | 'code'
  | 'units'
  | 'symbol'
  | 'oracle'
  | 'service'
  | 'market'
  | 'scopes'
  | 'key'
  | 'eligibility'
  | 'policy'
  | 'prices'
  | 'limits'
  | 'gas'
  | 'tokens'
  | 'source'
  | 'webhook'
  | 'redis'

/** What one look came to: a pass, a warning or a failure with its fix. */
export type Finding = {
  readonly check: Check
  /** Which of several: a node's name, a role, a contract; '' for the only one. */
  readonly about: string
  readonly state: 'ok' | 'warning' | 'failing'
  /** A stable name of what was found; `ok` where nothing is wrong. */
  readonly code: string
  /** A sentence with what was found, and the limit. */
  readonly message: string
  readonly fix?: string
}

/** What is wrong, and what to do about it. */
type Wrong = { readonly code: string; readonly message: string; readonly fix: string }

export const passed = (check: Check, about: string, message: string): Finding => ({
  check,
  about,
  state: 'ok',
  code: 'ok',
  message,
})
export const warned = (check: Check, about: string, wrong: Wrong): Finding => ({
  check,
  about,
  state: 'warning',
  ...wrong,
})
export const failed = (check: Check, about: string, wrong: Wrong): Finding => ({
  check,
  about,
  state: 'failing',
  ...wrong,
})

/** Say what an error says; one that is no error of ours is a defect, and fails as well. Pure. */
export function failedBy(check: Check, about: string, error: unknown, fix?: string): Finding {
  if (!(error instanceof RolekeeperError)) {
    const name = error instanceof Error ? printable(error.name) : typeof error
    const message = `Looking failed unexpectedly (${name}).`
    return failed(check, about, { code: 'doctor.broken', message, fix: 'report it with the log.' })
  }
  // Some sentences bring their fix.
  const [message = '', own] = error.shortMessage.split(' Fix: ')
  return failed(check, about, {
    code: error.code,
    message,
    fix: fix ?? error.fix ?? own ?? 'see the message.',
  })
}

/** Stop at what fails first, as the error that says so. Throws RolekeeperError with the finding's code. */
export function refuseFailing(findings: readonly Finding[]): void {
  const first = findings.find(({ state }) => state === 'failing')
  if (first === undefined) return
  const { code, message, fix, check, about } = first
  throw new RolekeeperError(code, message, { ...(fix === undefined ? {} : { fix }), facts: { check, about } })
}

/** Name an agent of a configuration as its file does: `agents[0], the liquidator`. Pure. */
export const agentText = (agent: AgentConfig, agents: readonly AgentConfig[]): string =>
  `agents[${agents.indexOf(agent)}], the ${agent.role}`
