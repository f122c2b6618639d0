import type { Around } from '../../agents/agent.ts'

/** A keeper that does nothing yet, and knows nothing of rivals or of what came. */
export const NOTHING_AROUND: Around = {
  inFlight: [],
  recent: [],
  colleagues: [],
  experience: [],
  rivals: [],
}
