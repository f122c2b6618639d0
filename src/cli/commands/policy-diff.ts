import { printable } from '../../errors.ts'
import type { Difference } from '../../guard/policy/difference.ts'
import { compareFiles } from '../../keeper/policy-file.ts'
import type { Io } from '../command.ts'

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

/** Write a difference on one line: which way, where, and both values with their units. Pure. */
function lineOf({ direction, path, was, is }: Difference): string {
  const [before, after] = [was, is].map((each) => (each === null ? 'nothing' : printable(each, 300)))
  return `${direction.padEnd('narrower'.length)}  ${printable(path)}: ${before} → ${after}`
}
