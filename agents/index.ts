import { liquidator } from './liquidator/agent.ts'

/** The roles that this release staffs, by name. */
export const agents = { liquidator } as const
