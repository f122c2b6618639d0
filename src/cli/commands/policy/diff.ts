import { writeFileSync } from 'node:fs'
import { printable } from '../../../errors.ts'
import { looseningText } from '../../../guard/approval/person-key.ts'
import type { Difference } from '../../../guard/policy/compare/difference.ts'
import { approvalsFileOf } from '../../../keeper/policy/loosening.ts'
import { approverOf, compareFiles } from '../../../keeper/policy-tools/file.ts'
import { identify, keyToSign } from '../../orders/person-key.ts'
import { type Io, usageError } from '../../parse/command.ts'

/** Exit codes, by what the differences come to: 1 and 2 are of what does not load. */
const CODES = { same: 0, narrower: 0, wider: 3, unknown: 4 } as const

const WORDS = {
  same: 'the same as',
  narrower: 'narrower than',
  wider: 'wider than',
  unknown: 'not known to be narrower than',
} as const

/** Print in what two policies of a role differ, and what that comes to. @returns the exit code. */
export function diffPolicies(old: string, now: string, config: string, io: Io): number {
  const { change, differences, hash } = compareFiles(old, now, config)
  io.out(differences.map((each) => `${lineOf(each)}\n`).join(''))
  io.out(`${printable(now)} is ${WORDS[change]} ${printable(old)}; the change is ${hash}.\n`)
  return CODES[change]
}

/** What is approved, and by whose key. */
type Approving = {
  readonly config: string
  readonly hash?: string
  readonly key?: string
  readonly yes?: true
}

/**
 * Show a change of a policy, and with its hash approve it, beside the new policy's file.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for a hash of another change and for who is no approver of the old policy, and what
 * reading the key throws.
 */
export async function approvePolicy(
  old: string,
  now: string,
  { config, hash: shown, key: keyFile, yes }: Approving,
  io: Io,
): Promise<number> {
  if (shown === undefined) {
    diffPolicies(old, now, config, io)
    io.out('Nothing is approved: read it, and repeat with --hash and the hash of the change.\n')
    return 1
  }
  const { hash } = compareFiles(old, now, config)
  // Of a change that was taken up before, the keeper says the time that it is.
  if (shown.replace(/\.\d+$/, '') !== hash) {
    throw usageError(
      `The change is ${hash}, not what --hash names: nothing was approved.`,
      `read it: rolekeeper policy diff ${old} ${now} --config ${config}`,
    )
  }
  const says = `takes up ${now} in the place of ${old}, change ${shown}`
  const by = identify(looseningText(shown), await keyToSign({ keyFile, yes: yes === true }, says, io))
  const name = approverOf(old, shown, by)
  if (name === null) {
    throw usageError(
      `${by.name ?? by.user} is no approver of ${old}.`,
      'give --key FILE of one who approval.approvers of the old policy names',
    )
  }
  writeFileSync(approvalsFileOf(now), `${JSON.stringify(by)}\n`, { flag: 'a' })
  io.out(`Approved by ${name}: ${shown}, in ${printable(approvalsFileOf(now))}\n`)
  return 0
}

/** Write a difference on one line: which way, where, and both values with their units. Pure. */
function lineOf({ direction, path, was, is }: Difference): string {
  const [before, after] = [was, is].map((each) => (each === null ? 'nothing' : printable(each, 300)))
  return `${direction.padEnd('narrower'.length)}  ${printable(path)}: ${before} → ${after}`
}
