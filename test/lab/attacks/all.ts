import { ANSWER_ATTACKS } from './answers.ts'
import { ARGUMENT_ATTACKS } from './arguments.ts'
import type { Attack } from './attack.ts'
import { CALL_ATTACKS } from './calls.ts'
import { INCIDENT_ATTACKS } from './incidents.ts'
import { SIGNATURE_ATTACKS } from './signatures.ts'

/** Everything that a hostile service is known to try on a prepare request. */
export const ATTACKS: readonly Attack[] = [
  ...ANSWER_ATTACKS,
  ...CALL_ATTACKS,
  ...ARGUMENT_ATTACKS,
  ...SIGNATURE_ATTACKS,
  ...INCIDENT_ATTACKS,
]
