/** Why something was left out or left alone: a stable name, and a sentence with value and limit. */
export type Stop = { readonly check: string; readonly message: string }

/** Whether a judgement is a stop. Pure. */
export const isStop = (judged: unknown): judged is Stop =>
  typeof judged === 'object' && judged !== null && 'check' in judged
