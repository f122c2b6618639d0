import type { PassedOver } from '../agent.ts'

/** Why something was left out or left alone: a stable name, and a sentence with value and limit. */
export type Stop = Pick<PassedOver, 'check' | 'message' | 'alarm'>

/** Whether a judgement is a stop. Pure. */
export const isStop = (judged: unknown): judged is Stop =>
  typeof judged === 'object' && judged !== null && 'check' in judged
