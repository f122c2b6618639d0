import type { Address, Hex, TransactionReceipt } from 'viem'
import { isAddress, isHex } from 'viem'
import { createCaller, type Presented } from './calls.ts'
import type { Intent } from './chain.ts'
import { within } from './eventually.ts'
import { type Findings, type Row, rowOf } from './row.ts'
import { isObject, type Json, memberProblems, resourceProblems } from './shape-check.ts'
import { placeSignature } from './signing.ts'
import { WORKFLOW_INPUTS } from './transcription/workflow-inputs.ts'
import { modeOf } from './transcription/workflow-types.ts'
import { createWallet, type Wallet } from './wallet.ts'
import { operationOf, type World } from './world.ts'

/** What a workflow is to do, and the figure on the chain, or of a record at the service, that shows that it did. */
type Step = {
  readonly wallet: Wallet
  readonly input: Json
  /** Waits for what must have happened, once all was refused that is to be. Gives the members of the input that follow from it. */
  readonly when?: () => Promise<Json>
  /** Read before it is prepared, without receipts, and once it is final, with those of its transactions. */
  readonly read: (receipts: readonly TransactionReceipt[]) => Promise<bigint>
  /** Whether the figure moved as the workflow promises. */
  readonly moved: (before: bigint, after: bigint) => boolean
}

/** Carries workflows to their end. The first of a type is a row; the same again is only done. */
type Carry = (type: string, step: Step) => Promise<readonly TransactionReceipt[]>

/** What a story is given: where things are, and how to carry a workflow. */
export type Stage = { readonly world: World; readonly carry: Carry }

/** Workflows of one group of wallets, one after the other. */
export type Story = { readonly types: readonly string[]; readonly play: (stage: Stage) => Promise<void> }

const PREPARE = operationOf('POST /v1/workflows/prepare')
const REGISTER = operationOf('POST /v1/workflows/{requestId}/transactions')
const PROGRESS = operationOf('GET /v1/workflows/{requestId}')

/** Play stories side by side. Each of their types becomes a row, as it finishes. */
export async function witnessWorkflows(
  world: World,
  stories: readonly Story[],
  onRow: (row: Row) => void,
): Promise<void> {
  const shown = new Set<string>()
  const show = (row: Row) => {
    shown.add(row.name)
    onRow(row)
  }
  const carry = carrier(world, show)
  const played = stories.map(async ({ types, play }) => {
    const failure = await play({ world, carry }).then(
      () => 'its story ended without it',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    for (const name of types.filter((type) => !shown.has(type)))
      show({ kind: 'workflow', name, checks: 1, problems: [`not reached: ${failure}`], ms: 0 })
  })
  await Promise.all(played)
}

function carrier(world: World, show: (row: Row) => void): Carry {
  const first = new Set<string>()
  return async (type, step) => {
    const again = first.has(type)
    first.add(type)
    let receipts: readonly TransactionReceipt[] | null = null
    const row = await rowOf('workflow', type, async (findings) => {
      if (!again) {
        await refuseInputs(world, type, step, findings)
        await refuseStrangers(world, type, step, findings)
      }
      const input = { ...step.input, ...(await step.when?.()) }
      // What the input tells of the chain is judged by what the service knows of it.
      await world.caughtUp()
      receipts = await (isRecord(type) ? saveRecord : carryThrough)(world, type, { ...step, input }, findings)
    })
    if (!again) show(row)
    // What went through and was wrong keeps nothing that comes after it.
    if (receipts === null || (again && row.problems.length > 0))
      throw new Error(`${type}: ${row.problems[0]}`)
    return receipts
  }
}

/** Whether preparing a type is its effect. */
const isRecord = (type: string) => modeOf(type).executionMode === 'metadata_only'

/** Prepare speaks for the wallet: its session, beside the application's key. */
const callerOf = (world: World, wallet: Wallet, findings: Findings) =>
  createCaller(
    {
      ...world.service,
      present: (one) => (one === 'session' ? world.signIn(wallet) : world.service.present(one)),
    },
    findings,
  )

const requestOf = ({ info }: World, workflowType: string, { address }: Wallet, input: Json) => ({
  body: { workflowType, chainId: info.chainId, principalAddress: address, input },
})

const FOR_WALLET: Presented = { credentials: ['secret', 'session'] }

/** An input that lacks a member, or has one too many, is not prepared. */
async function refuseInputs(world: World, type: string, step: Step, findings: Findings): Promise<void> {
  const { wallet, input } = step
  const fields = WORKFLOW_INPUTS[type] ?? {}
  findings.hold(Object.keys(fields).length > 0, 'its input is not transcribed')
  findings.take(memberProblems(fields, input, 'input'))
  const call = callerOf(world, wallet, findings)
  const refuse = async (wrong: Json, what: string) => {
    const { status } = await call(PREPARE, requestOf(world, type, wallet, wrong), FOR_WALLET)
    findings.hold(status === 400, `an input ${what}: ${status}, not 400`)
  }
  for (const name of Object.keys(fields)) {
    const { [name]: _, ...partial } = input
    await refuse(partial, `without ${name}`)
  }
  await refuse({ ...input, witnessed: true }, 'with a member too many')
}

/** Nobody prepares for a wallet whose session is not theirs; what preparing itself does needs a session. */
async function refuseStrangers(world: World, type: string, step: Step, findings: Findings): Promise<void> {
  const { wallet, input } = step
  const call = callerOf(world, wallet, findings)
  const foreign = await call(PREPARE, requestOf(world, type, createWallet(), input), FOR_WALLET)
  findings.hold(foreign.status === 403, `for another wallet: ${foreign.status}, not 403`)
  if (!isRecord(type)) return
  const alone = await call(PREPARE, requestOf(world, type, wallet, input), { credentials: ['secret'] })
  findings.hold(alone.status === 403, `without a session: ${alone.status}, not 403`)
}

async function prepare(world: World, type: string, wallet: Wallet, input: Json, findings: Findings) {
  const call = callerOf(world, wallet, findings)
  const { status, body: answer } = await call(PREPARE, requestOf(world, type, wallet, input), FOR_WALLET)
  if (status !== 200 || !isObject(answer))
    throw new Error(`prepare answered ${status} ${JSON.stringify(answer)}`)
  findings.take(resourceProblems('PreparedWorkflow', answer))
  findings.hold(answer.workflowType === type, `prepared ${answer.workflowType}`)
  const { executionMode, custodyBoundary } = modeOf(type)
  findings.hold(
    answer.executionMode === executionMode,
    `executionMode is ${answer.executionMode}, not ${executionMode}`,
  )
  findings.hold(
    answer.custodyBoundary === custodyBoundary,
    `custodyBoundary is ${answer.custodyBoundary}, not ${custodyBoundary}`,
  )
  findings.hold(Date.parse(String(answer.expiresAt)) > Date.now(), 'it has expired')
  const preflight = isObject(answer.preflight) ? answer.preflight : {}
  const transactions = Array.isArray(answer.transactions) ? answer.transactions.filter(isObject) : []
  return { call, answer, preflight, transactions, requestId: String(answer.requestId) }
}

/** What is done by preparing it: there is nothing to sign, and it is final at once. */
async function saveRecord(world: World, type: string, step: Step, findings: Findings) {
  const { wallet, input, read, moved } = step
  const before = await read([])
  const { call, answer, preflight, transactions, requestId } = await prepare(
    world,
    type,
    wallet,
    input,
    findings,
  )
  if (preflight.status !== 'passed')
    throw new Error(`preflight ${preflight.status}: ${JSON.stringify(preflight.blockedReasons)}`)
  findings.hold(answer.status === 'final_success', `status is ${answer.status}, not final_success`)
  findings.hold(transactions.length === 0, 'it has something to sign')
  await holdEnd(world, type, { call, answer, requestId }, findings)
  const after = await read([])
  findings.hold(moved(before, after), `the service's figure went from ${before} to ${after}`)
  return []
}

async function carryThrough(world: World, type: string, step: Step, findings: Findings) {
  const { wallet, input, read, moved } = step
  const before = await read([])
  const prepared = await prepare(world, type, wallet, input, findings)
  const { call, answer, preflight, transactions, requestId } = prepared
  if (preflight.status !== 'passed')
    throw new Error(`preflight ${preflight.status}: ${JSON.stringify(preflight.blockedReasons)}`)
  findings.hold(answer.status === 'prepared', `status is ${answer.status}, not prepared`)
  findings.hold(transactions.length > 0, 'it has no transaction')
  findings.take(transactions.flatMap((one, index) => orderProblems(world.info.chainId, one, index)))
  const intents = await Promise.all(transactions.map((one) => intentOf(wallet, one)))
  const receipts = await world.chain.send(wallet, intents)
  for (const [order, { transactionHash }] of receipts.entries()) {
    const body = { order, chainId: world.chain.id, txHash: transactionHash }
    const registered = await call(REGISTER, { path: { requestId }, body }, { credentials: ['secret'] })
    findings.hold(registered.status === 200, `registration of ${order} answered ${registered.status}`)
  }
  await holdEnd(world, type, { call, answer, requestId }, findings)
  const after = await read(receipts)
  findings.hold(moved(before, after), `the chain's figure went from ${before} to ${after}`)
  return receipts
}

/** The service states by what a workflow is seen to be done, calls it final by that, and announces it. */
async function holdEnd(
  world: World,
  type: string,
  { call, answer, requestId }: Pick<Awaited<ReturnType<typeof prepare>>, 'call' | 'answer' | 'requestId'>,
  findings: Findings,
): Promise<void> {
  const postconditions = answer.canonicalPostconditions
  findings.hold(Array.isArray(postconditions) && postconditions.length > 0, 'it has no postcondition')
  findings.take(
    await finalProblems(() => call(PROGRESS, { path: { requestId } }, { credentials: ['secret'] })),
  )
  const name = type.split('.').at(-1)
  const event = await world.events.published(`workflow.${name}.updated`, requestId)
  findings.hold(event !== null, `no event workflow.${name}.updated names ${requestId}`)
}

function orderProblems(chain: number, intent: Json, index: number): readonly string[] {
  const { order, chainId, target, transactionKind } = intent
  return [
    ...(order === index ? [] : [`intent ${index} has order ${order}`]),
    ...(chainId === chain ? [] : [`intent ${index} is for chain ${chainId}`]),
    ...((target === null) === (transactionKind === 'contract_deployment')
      ? []
      : [`intent ${index} is a ${transactionKind} of ${target}`]),
  ]
}

/** What is to be signed; where the service asks for typed data, its signature is put where the service says. */
async function intentOf(wallet: Wallet, { target, calldata, value, signing }: Json): Promise<Intent> {
  if (!isHex(calldata)) throw new TypeError(`calldata ${String(calldata)}`)
  const data: Hex = isObject(signing) ? await placeSignature(wallet, calldata, signing) : calldata
  const to: Address | null =
    typeof target === 'string' && isAddress(target, { strict: false }) ? target : null
  return { target: to, calldata: data, value: BigInt(String(value)) }
}

/** Wait until the service calls a workflow final; say what keeps it from there. */
async function finalProblems(
  ask: () => Promise<{ status: number; body: unknown }>,
): Promise<readonly string[]> {
  let last: unknown
  const end = await within(async () => {
    const { status, body } = await ask()
    last = body
    if (status !== 200 || !isObject(body)) return [`progress answered ${status}`]
    if (body.status === 'final_success') return []
    return body.status === 'failed' ? ['it stays failed'] : undefined
  })
  if (!isObject(last)) return end ?? []
  const problems = end ?? [`it stays ${last.status}`]
  return [...resourceProblems('WorkflowProgress', last), ...problems, ...unsatisfied(last)]
}

function unsatisfied({ canonicalPostconditions }: Json): readonly string[] {
  if (!Array.isArray(canonicalPostconditions)) return ['no postconditions in its progress']
  return canonicalPostconditions
    .filter((one) => !isObject(one) || one.satisfied !== true)
    .map((one) => `postcondition not satisfied: ${JSON.stringify(one)}`)
}
