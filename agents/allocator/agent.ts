import type { Agent } from '../agent.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { due } from './duty.ts'
import { type AllocatorPolicy, allocatorPolicy } from './policy.ts'
import { see } from './see.ts'
import type { AllocatorSeen } from './seen.ts'

/** The allocator: moves a vault's assets between its markets, for those who leave, out of harm, and for yield. */
export const allocator: Agent<AllocatorPolicy, AllocatorSeen> = {
  role: 'allocator',
  watches: {
    collections: ['vaults', 'markets'],
    optional: ['allocation-intelligence'],
    eventTypes: [
      'vaults.updated',
      'tranches.updated',
      'markets.updated',
      'oracles.updated',
      'credit.facilities.updated',
      'allocation.intelligence.updated',
    ],
  },
  workflowTypes: [
    'role.allocator.vaultAllocate',
    'role.allocator.vaultDeallocate',
    'role.allocator.vaultReallocationBatch',
  ],
  policy: () => allocatorPolicy,
  worksFor: 'vaults',
  see,
  decide,
  due,
  board,
}
