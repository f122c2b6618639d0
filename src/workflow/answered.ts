import { createHash } from 'node:crypto'
import type { PreparedWorkflow } from '../service/contract/prepared-workflow.ts'
import type { FrozenAnswer } from './workflow.ts'

/** What the service answered, as it came. */
export type ServiceAnswer = { readonly bytes: string; readonly answer: PreparedWorkflow }

/** Freeze an answer with the hash of its bytes. Pure. */
export const freeze = ({ bytes, answer }: ServiceAnswer, receivedAtMs: number): FrozenAnswer => ({
  bytesSha256: createHash('sha256').update(bytes).digest('hex'),
  answer,
  receivedAtMs,
})
