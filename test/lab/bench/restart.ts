import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import { systemClock } from '../../../src/clock.ts'
import type { RunConfig } from '../../../src/config/config.ts'
import { openJournal } from '../../../src/journal/open.ts'
import { assembleRaw, orderAttempt } from '../../../src/pipeline/transactions/transaction.ts'
import { createKmsSigner } from '../../../src/sign/kms.ts'
import type { Signer } from '../../../src/sign/signer.ts'
import type { Attempt } from '../../../src/workflow/slot.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { createKeeperScene, type KeeperScene, startTestKeeper } from '../../support/keeper-scene.ts'
import { answerOf, proposalOf, slotOf, workflowOf } from '../../support/workflows.ts'

/** How a keeper takes up what was in flight when its process died. Milliseconds since its start. */
export type RestartFigures = {
  readonly workflows: number
  /** Until the first of them did anything. */
  readonly firstStepMs: number
  /** Until each of them was seen in a block. */
  readonly allMovingMs: number
  /** Digests that the KMS was asked for again, although they were signed before. */
  readonly signedAgain: number
}

/** How a process that dies leaves a transaction: a node has it, and the record says so, or not yet; or no node has it. */
const LEFT = ['sent', 'sent_unrecorded', 'lost'] as const

/** Life of what is left in flight: it must not expire while it is measured. */
const LIFE_MS = 3_600_000
const FEES = { maxFeePerGasWei: 20_000_000_000n, maxPriorityFeePerGasWei: 1_000_000_000n }

/** Start a keeper on a journal of many workflows in flight, on a chain that went on without it. */
export async function measureRestart(count: number, say: (text: string) => void): Promise<RestartFigures> {
  const world = await createKeeperScene()
  try {
    await world.mineEvery(0)
    say(`leaving ${count} in flight`)
    const config = world.config()
    const left = await leaveInFlight(count, config, world)
    await world.scene.client.mine({ blocks: 1 })
    const past = world.kms.calls().length
    say('starting the keeper')
    const times = await restart(config, world, new Set(left.ids))
    const asked = world.kms.calls().slice(past)
    const signedAgain = asked.filter(({ digest }) => left.digests.has(`0x${digest}`)).length
    return { workflows: count, ...times, signedAgain }
  } finally {
    await world.stop()
  }
}

async function restart(config: RunConfig, { mineEvery }: KeeperScene, waiting: Set<string>) {
  const startedAtMs = performance.now()
  await mineEvery(1)
  const running = await startTestKeeper(config)
  try {
    let firstStepMs = Number.POSITIVE_INFINITY
    await running.until((event) => {
      if (event.type !== 'slot') return false
      firstStepMs = Math.min(firstStepMs, Date.parse(event.at) - performance.timeOrigin - startedAtMs)
      if (event.state === 'mined' || event.state === 'final') waiting.delete(event.id)
      return waiting.size === 0
    })
    const allMovingMs = performance.now() - startedAtMs
    return { firstStepMs: Math.round(firstStepMs), allMovingMs: Math.round(allMovingMs) }
  } finally {
    await running.keeper.stop({ drainMs: 0 })
  }
}

/** Write the journal of a keeper that died, and give its nodes what it had sent. */
async function leaveInFlight(count: number, config: RunConfig, { scene, signer: address }: KeeperScene) {
  const signer = await openSigner(config)
  const { client, chain } = scene
  const first = await client.getTransactionCount({ address })
  const head = await client.getBlockNumber()
  const { journal, close } = openJournal(config.directory, systemClock)
  const ids: string[] = []
  const digests = new Set<Hex>()
  try {
    await journal.adoptNonce(chain.chainId, signer.address, first)
    for (let index = 0; index < count; index += 1) {
      const left = LEFT[Math.floor((index * LEFT.length) / count)] ?? 'lost'
      const open = workflowWith(index, signer.address, chain.chainId, first + index)
      await journal.open({ ...open, slots: [] })
      const claimed = await journal.claim(open, null)
      if (claimed === 'lost') throw new TypeError('a nonce was taken')
      const [slot] = claimed.slots
      const ordered = slot?.attempts[0]
      if (slot === undefined || ordered === undefined) throw new TypeError('a workflow without an attempt')
      const signed = await assembleRaw(slot, ordered, await signer.signDigest(ordered.digest))
      if (left !== 'lost') await client.sendRawTransaction({ serializedTransaction: signed.raw })
      const sent = { state: 'sent', sentAtMs: Date.now(), sentAtBlock: head } as const
      const attempt: Attempt = {
        ...ordered,
        ...signed,
        ...(left === 'sent_unrecorded' ? { state: 'signed' } : sent),
      }
      await journal.write({ ...claimed, slots: [{ ...slot, attempts: [attempt] }] })
      ids.push(open.id)
      digests.add(ordered.digest)
    }
  } finally {
    await close()
  }
  return { ids, digests }
}

async function openSigner({ kms, agents }: RunConfig): Promise<Signer> {
  const signer = agents[0]?.signer
  const { endpoint, region, accessKeyId, secretAccessKey } = kms ?? {}
  if (signer?.kind !== 'kms' || endpoint === undefined || region === undefined) {
    throw new TypeError('the scene signs with a KMS')
  }
  const credentials = () => ({
    accessKeyId: accessKeyId?.reveal() ?? '',
    secretAccessKey: secretAccessKey?.reveal() ?? '',
  })
  return createKmsSigner({ keyId: signer.keyId, address: signer.address, region, endpoint, credentials })
}

/** A workflow in flight: one empty transfer to ourselves, ordered and not signed. */
function workflowWith(index: number, signer: Hex, chainId: number, nonce: number): Workflow {
  const id = createHash('sha256').update(`restart ${index}`).digest('hex')
  const nowMs = Date.now()
  const bare = slotOf({
    chainId,
    signer,
    nonce,
    attempts: [],
    payload: { to: signer, data: '0x', valueWei: 0n, gasLimit: 21_000n },
  })
  const slot = { ...bare, attempts: [orderAttempt(bare, 'payload', FEES, nowMs)] }
  const answer = answerOf({ requestId: `wf-${index}`, expiresAt: new Date(nowMs + LIFE_MS).toISOString() })
  const { clearance, prepared } = workflowOf('in_flight')
  return workflowOf('in_flight', {
    id: id.slice(0, 32),
    opportunity: id,
    chainId,
    signer,
    createdAtMs: nowMs + index,
    updatedAtMs: nowMs,
    slots: [slot],
    proposal: proposalOf({ subject: `0xm:0xv:${index}`, occurrence: String(index) }),
    ...(prepared === undefined ? {} : { prepared: { ...prepared, answer, receivedAtMs: nowMs } }),
    ...(clearance === undefined ? {} : { clearance: { ...clearance, notAfterMs: nowMs + LIFE_MS } }),
  })
}
