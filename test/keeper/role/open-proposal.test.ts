import { expect, it } from 'vitest'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import type { RolePolicy } from '../../../src/keeper/policy/role-policy.ts'
import { createOpener, createRoleOrders } from '../../../src/keeper/role/open-proposal.ts'
import type { SafeReason } from '../../../src/pipeline/transactions/safe.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { newDirectory } from '../../support/directory.ts'
import { proposalOf, SIGNER, workflowOf } from '../../support/workflows.ts'

const OTHER = `0x${'52'.repeat(20)}` as const

it('finds what was opened of an order, and opens it once', async () => {
  const journal = openSqliteJournal(newDirectory())
  const opener = createOpener(
    { role: 'liquidator', signer: SIGNER },
    {
      clock: { nowMs: () => 1_000 },
      nodes: { chainId: 31_337 },
      journal,
      alarm: () => {},
      alone: (work) => work(),
      keys: [],
      signers: { reasonsOf: () => [] },
      rejections: { against: async () => null, isTakenBack: async () => false },
    },
  )
  const agent = { mode: 'live', signer: { address: SIGNER } }
  const orders = createRoleOrders({ agent } as RolePolicy, opener, { journal, onOpened: () => {} })
  const order = proposalOf({ kind: 'order', occurrence: 'an order' })
  expect(await orders.opened(order, false)).toBeNull()
  const first = await orders.open(order, false)
  expect(first).toMatchObject({ ok: true })
  expect(await orders.open(order, false)).toEqual(first)
  expect({ ok: true, ...(await orders.opened(order, false)) }).toEqual(first)
  expect(await orders.opened(order, true)).toBeNull()
  await journal.close()
})

it('a key whose window is full leaves to another key of its role neither what is urgent, nor anything while that is SAFE', async () => {
  const journal = openSqliteJournal(newDirectory())
  await journal.open(workflowOf('prepared'))
  const safe: SafeReason[] = []
  const { open } = createOpener(
    { role: 'liquidator', signer: SIGNER },
    {
      clock: { nowMs: () => 1_000 },
      nodes: { chainId: 31_337 },
      journal,
      alarm: () => {},
      alone: (work) => work(),
      keys: [SIGNER, OTHER].map((address) => ({ address, window: 1 })),
      rejections: { against: async () => null, isTakenBack: async () => false },
      signers: { reasonsOf: (signer) => (signer === OTHER ? safe : []) },
    },
  )
  const opened = (subject: string, changes: Partial<Proposal> = {}) =>
    open(proposalOf({ subject, ...changes }), false)
  expect(await opened('a')).toMatchObject({ ok: false, check: 'window_full' })
  expect(await opened('b', { urgent: true })).toMatchObject({ ok: true })
  safe.push({ check: 'x', message: 'x', seen: 'x', toLeave: 'x', atMs: 1 })
  expect(await opened('c')).toMatchObject({ ok: true })
  await journal.close()
})
