import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPublicClient, http } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import type { Inclusion } from '../../../src/workflow/slot.ts'
import { newDirectory } from '../../support/directory.ts'
import { SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'
import { findProblems } from './audit.ts'

const WORKFLOWS = 200
const hashOf = (index: number) => `0x${index.toString(16).padStart(64, '0')}` as const

let directory: string
beforeEach(async () => {
  directory = newDirectory()
  const journal = openSqliteJournal(directory)
  for (let nonce = 0; nonce < WORKFLOWS; nonce += 1) {
    const hash = hashOf(nonce)
    const inclusion: Inclusion = {
      hash,
      purpose: 'payload',
      blockNumber: 1n,
      blockHash: hash,
      status: 'success',
      gasUsed: 21_000n,
      effectiveGasPriceWei: 1n,
    }
    await journal.open(
      workflowOf('succeeded', {
        id: nonce.toString(16).padStart(32, '0'),
        opportunity: nonce.toString(16).padStart(64, '0'),
        slots: [slotOf({ nonce, state: 'final', inclusion })],
      }),
    )
  }
  await journal.close()
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Answers for each hash with its transaction, unless `answer` has another answer; counts what waits at once. */
async function audit(answer: (hash: string) => object | undefined) {
  let waiting = 0
  let most = 0
  const server = createServer(async (request, response) => {
    waiting += 1
    most = Math.max(most, waiting)
    const { id, method, params } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const hash = String(params[0])
    const nonce = `0x${Number(hash).toString(16)}`
    const row = { hash, nonce, from: SIGNER, status: '0x1', type: '0x2', blockNumber: '0x1', logs: [] }
    await new Promise((resolve) => setTimeout(resolve, 2))
    waiting -= 1
    const other = method === 'eth_getTransactionReceipt' ? answer(hash) : undefined
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(other ?? { result: row }) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const chain = createPublicClient({ transport: http(`http://127.0.0.1:${port}`, TO_CHAIN) })
  const problems = await findProblems({ directory, chainId: 31_337, signers: [] }, chain, WORKFLOWS)
  server.closeAllConnections()
  server.close()
  return { problems, most }
}

it('finds nothing wrong where the chain has all, and asks for few at once', async () => {
  const { problems, most } = await audit(() => undefined)
  expect(problems).toEqual([])
  expect(most).toBeLessThanOrEqual(40)
})

it('says what is not on the chain, what ended otherwise, and what it could not ask', async () => {
  const answers: Readonly<Record<string, object>> = {
    [hashOf(3)]: { result: null },
    [hashOf(5)]: { result: { hash: hashOf(5), status: '0x0', type: '0x2', logs: [] } },
    [hashOf(8)]: { error: { code: -32_000, message: 'too busy' } },
  }
  const { problems } = await audit((hash) => answers[hash])
  expect(problems).toHaveLength(3)
  // Newest first.
  expect(problems[0]).toMatch(/the chain could not be asked: .*too busy/s)
  expect(problems[1]).toMatch(`${hashOf(5)} is not what the journal says`)
  expect(problems[2]).toMatch(`${hashOf(3)} is not on the chain`)
})
