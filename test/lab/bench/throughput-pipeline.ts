/** The pipeline under test: real stages, guard, nodes and queue. What opens is said from outside; nothing is decided here. */
import { type Hex, keccak256 } from 'viem'
import { privateKeyToAddress, sign } from 'viem/accounts'
import { createNodes } from '../../../src/chain/http-nodes.ts'
import type { Nodes } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { openProposal } from '../../../src/decide/open.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import { sanityOf } from '../../../src/guard/sanity/by-role.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { createLiveStages } from '../../../src/keeper/stages/live.ts'
import { createRunQueue, createSerial } from '../../../src/keeper/term/run-queue.ts'
import type { Gate } from '../../../src/ops/control.ts'
import type { Stages } from '../../../src/pipeline/pipeline.ts'
import { type ChainView, watchChain } from '../../../src/pipeline/transactions/chain-view.ts'
import { feePolicy } from '../../../src/pipeline/transactions/fees.ts'
import { createGasMarket } from '../../../src/pipeline/transactions/gas-market.ts'
import type { Signers } from '../../../src/pipeline/transactions/safe.ts'
import type { Queue } from '../../../src/queue/queue.ts'
import type { TimersDeps } from '../../../src/queue/timers.ts'
import { createServiceClient, type ServiceClient } from '../../../src/service/client.ts'
import { SERVICE_TIMEOUTS } from '../../../src/service/http.ts'
import { recoverable } from '../../../src/sign/signature.ts'
import type { Signer } from '../../../src/sign/signer.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import {
  CONFIRMATIONS,
  inputOf,
  type Job,
  POLL_MS,
  type ThroughputSettings,
  WORKFLOW_TYPE,
} from './throughput-world.ts'

const ROLE = 'bench'
const LARGE = { movedMax: '1,000,000,000,000 USD', gasMax: '1,000,000 ETH' }
const GAS_MAX = '120,000 gas'

const POLICY = {
  limits: limitsPolicy.parse({
    perWorkflow: LARGE,
    perHour: { ...LARGE, revertsMax: '20' },
    perDay: { ...LARGE, revertsMax: '20' },
    prices: {},
  }),
  // As in the shipped policies, but that an answer may wait for its turn among a few hundred.
  freshness: freshnessPolicy.parse({
    ageMax: '1 min',
    blockLagMax: '60 blocks',
    headAgeMax: '30 s',
    expiryMargin: '3 s',
    lifetimeMax: '2 min',
  }),
  guard: guardPolicy(sanityOf(ROLE).limits([])).parse({
    views: [
      'function balanceOf(address owner) view returns (uint256)',
      'function allowance(address owner, address spender) view returns (uint256)',
    ],
    allow: [
      {
        id: 'finalize',
        workflowType: WORKFLOW_TYPE,
        target: '$contract.rfqDesk',
        function: 'function finalize(uint256 rfqId)',
        params: { rfqId: { eq: '$input.rfqId' } },
        valueMax: '0 ETH',
        gasMax: GAS_MAX,
      },
    ],
    effects: [{ workflowType: WORKFLOW_TYPE, out: [], in: [] }],
    sanity: {},
    gasHeadroom: '130 %',
  }),
  fees: feePolicy.parse({
    maxFeePerGas: '30 gwei',
    priorityFeePerGas: '1 gwei',
    priorityFeePerGasMax: '3 gwei',
    gainShare: '50 %',
    nativePrice: '3,000 USD',
    baseFee: '200 %',
    bump: '12.5 %',
    bumpAfter: '3 blocks',
  }),
}

/** What a pipeline of some signers works with. */
type PipelineDeps = Outside & {
  readonly settings: ThroughputSettings
  readonly signers: readonly Signer[]
  readonly journal: Journal
  readonly safe: Signers['safe']
  readonly gate: () => Gate
  readonly createQueue: (deps: TimersDeps) => Queue
  /** What was in flight before: it is carried on. */
  readonly resumed: readonly Workflow[]
  readonly onMove: (before: Workflow | null, after: Workflow) => void
}

/** What carries workflows of some signers. */
export type Pipeline = {
  /** Resolve when it is confirmed. */
  readonly carry: (job: Job) => Promise<void>
  readonly close: () => Promise<void>
}

/** The servers, as all pipelines of a process ask them. */
type Outside = { readonly nodes: Nodes; readonly client: ServiceClient }

/** Connect to the servers. */
export async function connectOutside({ rpcUrl, serviceUrl, chainId }: ThroughputSettings): Promise<Outside> {
  const nodes = await createNodes({
    chainId,
    read: [rpcUrl],
    send: [rpcUrl],
    agree: 1,
    clock: systemClock,
    timeoutMs: 5_000,
    pollMs: POLL_MS,
    finality: { confirmations: CONFIRMATIONS },
  })
  const client = createServiceClient(
    { baseUrl: serviceUrl, secretKey: 'sk_bench', timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
  return { nodes, client }
}

/** Say on stderr what should not have been. */
export const say = (text: unknown): void => void process.stderr.write(`keeper: ${text}\n`)

/** Create a pipeline on a journal; what is resumed goes on at once. */
export async function createPipeline(deps: PipelineDeps): Promise<Pipeline> {
  const { settings, signers, journal, nodes, safe, resumed } = deps
  const { chainId, desk } = settings
  const live = new Map(resumed.map((workflow) => [workflow.id, workflow]))
  const waiting = new Map<string, () => void>()
  const alone = createSerial()
  const alarm = ({ message }: Error) => say(message)
  const addresses = settings.keys.map(addressOf)
  const chain = await watchChain({
    scope: '',
    nowMs: systemClock.nowMs,
    clock: systemClock,
    nodes,
    journal,
    alarm,
    safe,
    signers: signers.map(({ address }) => address),
    onHead: () => {
      for (const { id, state } of live.values())
        if (state === 'in_flight' || state === 'cleared') queue.wake(id, 0)
    },
    onFailed: say,
  })
  const queue = createRunQueue({
    clock: systemClock,
    journal,
    alone,
    createQueue: deps.createQueue,
    signers: { safe },
    remembered: (id) => live.get(id),
    stagesOf: stagesOf(chain, (work) => alone('budget', work), deps),
    onMove: (before, after) => {
      live.set(after.id, after)
      deps.onMove(before, after)
      if (after.state === 'confirmed') waiting.get(after.id)?.()
      else if (after.note !== undefined) say(`${after.state}: ${after.note.message}`)
    },
    metrics: { struck: () => {} },
    log: { error: (text: string, _facts: unknown, error: unknown) => say(`${text} ${error}`) },
  })
  for (const { id } of resumed) queue.wake(id, 0)
  const carry = async (job: Job) => {
    const signer = addresses[job.key]
    if (signer === undefined) throw new TypeError('no such key')
    const opener = { role: roleOf(job), chainId, signer, shadow: false }
    const opened = await openProposal(proposalOf(job, desk.address), opener, {
      nowMs: systemClock.nowMs,
      journal,
      alarm,
    })
    if (!opened.ok) throw new TypeError(opened.message)
    const { workflow } = opened
    live.set(workflow.id, workflow)
    deps.onMove(null, workflow)
    const confirmed = new Promise<void>((resolve) => waiting.set(workflow.id, resolve))
    queue.wake(workflow.id, 0)
    await confirmed
    waiting.delete(workflow.id)
    live.delete(workflow.id)
  }
  const close = async () => {
    await queue.close()
    await chain.stop()
  }
  return { carry, close }
}

const roleOf = ({ key, ofOwnRole = false }: Job) => (ofOwnRole ? `${ROLE}${key}` : ROLE)

/** Join the stages of a signer, by the role that a workflow of it has. */
function stagesOf(
  chain: ChainView,
  alone: <T>(work: () => Promise<T>) => Promise<T>,
  { settings, signers, journal, nodes, client, safe, gate }: PipelineDeps,
): (workflow: Workflow) => Stages {
  const { nowMs, monotonicMs } = systemClock
  const gas = createGasMarket({ nodes, monotonicMs })
  const approval = {
    always: new Set<never>(),
    aboveAssets: new Map(),
    aboveUsdMicros: undefined,
    beyondBps: undefined,
  }
  const create = (role: string, signer: Signer) =>
    createLiveStages({
      nowMs,
      monotonicMs,
      clock: systemClock,
      gas,
      journal,
      nodes,
      client,
      chain,
      signer,
      gate,
      alone,
      fees: POLICY.fees,
      signers: { safe, reasonsOf: () => [] },
      alarm: ({ message }) => say(message),
      urgentOf: () => [],
      window: 64,
      approval: { ...approval, expiresAfterMs: 60_000, hash: '', approvers: {}, quorum: 1 },
      mail: { everyMs: 250, answers: async () => [] },
      standing: { now: async () => [], ahead: () => undefined, expect: () => undefined },
      apart: [],
      session: NO_SESSION,
      ruleset: compileRuleset(
        { role, ...POLICY },
        {
          namespace: 'bench',
          assets: [],
          markets: [],
          vaults: [],
          funds: [],
          contracts: [{ ...settings.desk, name: 'rfqDesk' }],
        },
      ),
    })
  const created = new Map<string, Stages>()
  return ({ role, signer }) => {
    const name = `${role} ${signer}`
    const owner = signers.find(({ address }) => address === signer)
    if (owner === undefined) throw new TypeError(`no stages of ${signer}`)
    const stages = created.get(name) ?? create(role, owner)
    created.set(name, stages)
    return stages
  }
}

/** What is measured is signed for: no session is opened. */
const NO_SESSION = {
  use: async () => {
    throw new TypeError('no session is opened here')
  },
}

const proposalOf = (job: Job, desk: Hex): Proposal => ({
  workflowType: WORKFLOW_TYPE,
  kind: 'finalize',
  subject: String(job.id),
  occurrence: '1',
  input: inputOf(desk, job),
  exposure: { token: null, assets: 0n, usdMicros: 0n },
  summary: 'finalize',
  reason: {},
})

const addressOf = (privateKey: Hex) => privateKeyToAddress(privateKey).toLowerCase() as Hex

/** As the scripts sign, and checked as a KMS is: a key in memory, so that no waiting hides what the keeper costs. */
export function signerOf(privateKey: Hex): Signer {
  const address = addressOf(privateKey)
  return {
    address,
    keyId: keccak256(address),
    signDigest: async (digest) => {
      const { r, s } = await sign({ hash: digest, privateKey })
      return recoverable(digest, BigInt(r), BigInt(s), address)
    },
  }
}
