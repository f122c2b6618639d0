import { z } from 'zod'
import { HAND_ROLES, type Role } from '../src/service/contract/roles.ts'
import {
  agentRoleOf,
  WORKFLOW_CATALOGUE,
  WORKFLOW_TYPES,
  type WorkflowType,
} from '../src/service/contract/workflow-types.ts'
import type { Agent } from './agent.ts'

const typesOf = (role: Role): readonly WorkflowType[] =>
  WORKFLOW_TYPES.filter((type) => agentRoleOf(type) === role)

/**
 * A role that a person works by hand: it reads nothing and proposes nothing, and what people submit under it is judged,
 * approved, signed and followed as anywhere. It hears of its own workflows alone. Its strategy is empty. Pure.
 */
const workedByHand = (role: Role): Agent => ({
  role,
  byHand: true,
  watches: {
    collections: [],
    eventTypes: [...new Set(typesOf(role).map((type) => WORKFLOW_CATALOGUE[type].eventType))],
  },
  workflowTypes: typesOf(role),
  policy: () => z.strictObject({}),
  see: () => ({ seen: {} }),
  decide: () => ({ proposals: [], passedOver: [] }),
})

/** The roles of people: vault owners, partners, curators and investors. */
export const byHand: readonly Agent[] = HAND_ROLES.map(workedByHand)
