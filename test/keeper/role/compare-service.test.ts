import { afterEach, beforeEach, expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { compareWithService } from '../../../src/keeper/role/compare-service.ts'
import { createSigners, type Signers } from '../../../src/pipeline/transactions/safe.ts'
import type { TrackedTransaction } from '../../../src/service/contract/assumptions.ts'
import { newDirectory } from '../../support/directory.ts'
import { answerOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const HASH = `0x${'7a'.repeat(32)}` as const

let journal: Journal
let signers: Signers
beforeEach(async () => {
  journal = openSqliteJournal(newDirectory())
  await journal.adoptNonce(31_337, SIGNER, 7)
  signers = await createSigners([SIGNER], { nowMs: () => 1, chainId: 31_337, journal, alarm: () => {} })
})
afterEach(() => journal.close())

/** Compare with a service that knows these transactions of every workflow; returns the requests that it was asked for. */
async function compare(
  transactions: readonly TrackedTransaction[],
  refusal: RolekeeperError | null = null,
): Promise<readonly string[]> {
  const asked: string[] = []
  await compareWithService(
    { role: 'liquidator', signer: SIGNER },
    {
      nowMs: () => 2_000,
      journal,
      signers,
      onMove: () => {},
      client: {
        getWorkflow: async ({ params: { requestId } }) => {
          asked.push(requestId)
          if (refusal !== null) throw refusal
          const status = 'submitted'
          const workflowType = 'role.liquidator.liquidate'
          const answer = { requestId, workflowType, status, transactions: [...transactions] }
          return { answer: { ...answer, canonicalPostconditions: [] }, bytes: '', freshness: null }
        },
      },
    },
  )
  return asked
}
const sent: TrackedTransaction = { chainId: 31_337, txHash: HASH, status: 'submitted' }
const checks = () => signers.reasonsOf(SIGNER).map(({ check }) => check)

it('ends what a later journal has sent already, and makes its signer SAFE', async () => {
  const workflow = workflowOf('attested')
  await journal.open(workflow)
  expect(await compare([sent])).toEqual(['wf-1'])
  expect(checks()).toEqual(['journal_behind_service'])
  expect(signers.reasonsOf(SIGNER)[0]?.seen).toContain(HASH)
  expect(await journal.get(workflow.id)).toMatchObject({
    state: 'quarantined',
    note: { check: 'sent_before_restore' },
  })
})

it('shows what the service calls a request without what a terminal would act on', async () => {
  const frozen = {
    bytesSha256: '',
    answer: answerOf({ requestId: 'wf\u001b[2J\u202e-1' }),
    receivedAtMs: 1_000,
  }
  await journal.open(workflowOf('attested', { prepared: frozen }))
  await compare([sent])
  expect(signers.reasonsOf(SIGNER)[0]?.seen).toMatch(/registered with the service for wf \[2J-1$/)
})

it('leaves what the service has forgotten: one old request keeps no role down', async () => {
  await journal.open(workflowOf('prepared'))
  const forgotten = new RolekeeperError('service.bad_request', 'x', { facts: { status: 404 } })
  await compare([], forgotten)
  expect(checks()).toEqual([])
  expect(await journal.live()).toMatchObject([{ state: 'prepared' }])
  const forbidden = new RolekeeperError('service.forbidden', 'x', { facts: { status: 403 } })
  await expect(compare([], forbidden)).rejects.toThrow(forbidden)
})

it('leaves what nobody has sent, what is in flight, and what is of others', async () => {
  await journal.open(workflowOf('prepared'))
  await journal.open(workflowOf('prepared', { id: 'shadow', opportunity: 'shadow', shadow: true }))
  await journal.open(workflowOf('prepared', { id: 'other', opportunity: 'other', role: 'allocator' }))
  await journal.open(workflowOf('cleared', { id: 'flies', opportunity: 'flies' }))
  const flying = workflowOf('in_flight', { id: 'flies', opportunity: 'flies', slots: [slotOf()] })
  await journal.claim(flying, null)
  expect(await compare([])).toEqual(['wf-1'])
  expect(checks()).toEqual([])
})
