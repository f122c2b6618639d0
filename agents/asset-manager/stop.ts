import type { PassedOver } from '../agent.ts'

/** Why something is left alone: a stable name, a sentence, and the numbers behind it. */
export type Stop = Pick<PassedOver, 'check' | 'message'> & Partial<Pick<PassedOver, 'reason' | 'near'>>

/** Pass a subject over. Pure. */
export const passOver = (subject: string, stop: Stop): PassedOver => ({ subject, reason: {}, ...stop })
