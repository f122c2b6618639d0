import { allocatorJudge } from './allocator.ts'
import type { Judge } from './judgement.ts'

/** Who is judged, in the order of the registry of roles. */
export const judges: readonly Judge[] = [allocatorJudge]
