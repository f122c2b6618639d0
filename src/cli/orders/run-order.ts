import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { RunConfig } from '../../config/config.ts'
import { printable, RolekeeperError } from '../../errors.ts'
import { submissionText } from '../../guard/approval/person-key.ts'
import { contentHash } from '../../guard/content-hash.ts'
import { nameAddress, nameOf } from '../../guard/explain/approval-screen.ts'
import { keeperAt } from '../../journal/directory/presence.ts'
import type { Transition } from '../../journal/journal.ts'
import type { Keeper } from '../../keeper/keeper.ts'
import { DEFAULT_DIRECTORY, pathText } from '../../ops/directory.ts'
import type { SubmittedWorkflow } from '../../ops/mail.ts'
import type { SubmissionDraft } from '../../ops/orders.ts'
import { native } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { counted } from '../../units.ts'
import { isHeld, isTerminal, type Workflow } from '../../workflow/workflow.ts'
import { ownConfigAt } from '../input/own-addresses.ts'
import type { Io } from '../parse/command.ts'
import { createInterrupts, createShow, type Show } from '../session.ts'
import { changeLines, deploymentAt } from '../target/figures.ts'
import { type GivenPlace, placeOf, placeText } from '../target/place.ts'
import { type Desk, order } from './order-desk.ts'
import { LOOK_MS, replyTo } from './order-reply.ts'
import { identify, keyToSign } from './person-key.ts'

/**
 * Where the keeper is that an order is for, of a run configuration or of a sandbox's directory, and the file of its author's
 * own key.
 */
export type OrderPlace = GivenPlace & { readonly json: boolean; readonly key?: string; readonly yes?: true }

/**
 * Hand an order to the keeper of a directory, or to its fleet, and follow it to its end; where no keeper runs in the directory,
 * run one for as long that decides nothing itself. In a fleet none is: its instances share what they do.
 * @returns the exit code: 0 for a success or an end in shadow.
 * @throws RolekeeperError `order.refused`, `order.not_taken`, and what loading and starting throw.
 */
export async function runOrder(draft: SubmissionDraft, place: OrderPlace, io: Io): Promise<number> {
  const id = randomUUID()
  const says = `submits ${draft.workflowType} to the ${draft.role}, as order ${id}, with ${JSON.stringify(draft.input)}`
  const key = await keyToSign({ keyFile: place.key, yes: place.yes === true }, says, io)
  const submission = { ...draft, by: identify(submissionText(id, contentHash(draft)), key) }
  const at = await placeOf(place, io)
  const isTaken = at.shared !== undefined || keeperAt(at.directory).state === 'running'
  const keeper = isTaken ? undefined : await createOwnKeeper(await configAt(place, io), io)
  const interrupts = createInterrupts(() => {})
  const known = deploymentAt(place, at)
  const show = await createShow(io, { ...place, known })
  try {
    await keeper?.start()
    const workflow = await order(at, async (desk) => {
      const placed = await desk.mail.submit(id, submission)
      try {
        const taken = replyTo(placed, desk.mail, placeText(place))
        return await Promise.race([taken.then((reply) => follow(reply, desk, show)), interrupts.first])
      } finally {
        // Nobody may take it once its author has gone.
        await placed.withdraw().catch(() => undefined)
      }
    })
    if (workflow === undefined) return 1
    show.end()
    if (place.json) io.out(`${JSON.stringify(endJson(workflow))}\n`)
    else {
      const named = createNaming(workflow, known, place)
      if (workflow.shadow === true) io.out(shadowText(workflow, known, named))
      io.out(refusalText(workflow, named))
    }
    return workflow.state === 'succeeded' || workflow.state === 'shadowed' ? 0 : 1
  } finally {
    show.end()
    interrupts.release()
    await keeper?.stop({ drainMs: 0 })
  }
}

/** The run configuration of the keeper at a place. Throws what loading it throws. */
export const configAt = ({ config, directory }: GivenPlace, io: Io): Promise<RunConfig> =>
  config === undefined ? sandboxOf(directory ?? DEFAULT_DIRECTORY) : loadConfig(config, io)

async function loadConfig(file: string, { env }: Io): Promise<RunConfig> {
  const { openRunConfig } = await import('../../config/config.ts')
  const { isWellKnown } = await import('../../sign/well-known.ts')
  return openRunConfig(file, { env, isWellKnown })
}

async function sandboxOf(directory: string): Promise<RunConfig> {
  if (!existsSync(join(directory, 'run.yaml'))) {
    // A sandbox that ends takes away what names its addresses, and keeps its chain.
    if (existsSync(join(directory, 'sandbox'))) throw endedSandbox(directory)
    throw unconfigured(directory)
  }
  const { sandboxConfig } = await import('../target/sandbox-config.ts')
  return sandboxConfig(directory)
}

function unconfigured(directory: string): RolekeeperError {
  const fix = 'name it with --config, or the directory of a sandbox with --directory.'
  const what = `There is no run configuration in ${printable(directory)}`
  return keeperAt(directory).state === 'ended'
    ? new RolekeeperError('order.no_keeper', `${what}, and no keeper runs in it.`, { fix })
    : new RolekeeperError('config.absent', `${what}.`, { fix })
}

function endedSandbox(directory: string): RolekeeperError {
  const at = directory === DEFAULT_DIRECTORY ? '' : ` -- --directory ${pathText(directory)}`
  return new RolekeeperError('order.no_keeper', `The sandbox of ${printable(directory)} has ended.`, {
    fix: `start it again: npm start${at}`,
  })
}

async function createOwnKeeper(config: RunConfig, io: Io): Promise<Keeper> {
  const { secretsOf } = await import('../../config/config.ts')
  const { createLog } = await import('../../ops/log.ts')
  const { createKeeper } = await import('../../keeper/keeper.ts')
  const { version } = await import('../version.ts')
  const log = createLog({ level: 'warn', secrets: () => secretsOf(config), write: io.err })
  return createKeeper(config, { log, version, duty: 'orders' })
}

/** Show each state that a workflow reaches, until its end. */
async function follow({ workflowId }: SubmittedWorkflow, { journal }: Desk, show: Show): Promise<Workflow> {
  let shown = 0
  let shownHash: string | null = null
  for (;;) {
    const workflow = await journal.get(workflowId)
    if (workflow !== null) {
      const transitions = await journal.transitions(workflowId)
      for (const [index, each] of transitions.entries()) {
        if (index >= shown) show.event(eventOf(workflow, each, transitions[index - 1]))
      }
      shown = transitions.length
      // Asked about anew, it has another hash.
      if (isHeld(workflow) && workflow.hold?.hash !== shownHash) {
        shownHash = workflow.hold?.hash ?? null
        await showHeld(workflow, show)
      }
      if (isTerminal(workflow.state)) return workflow
    }
    await setTimeout(LOOK_MS)
  }
}

const iso = (ms: number) => new Date(ms).toISOString()

function eventOf(workflow: Workflow, { state, atMs, note }: Transition, before: Transition | undefined) {
  const { id, role, proposal } = workflow
  return {
    type: 'workflow' as const,
    id,
    role,
    state,
    workflowType: proposal.workflowType,
    subject: proposal.subject,
    at: iso(atMs),
    durationMs: before === undefined ? 0 : atMs - before.atMs,
    ...(before === undefined ? { summary: proposal.summary } : {}),
    ...(isTerminal(state) && note !== undefined ? { check: note.check, message: note.message } : {}),
  }
}

async function showHeld(workflow: Workflow, show: Show): Promise<void> {
  const { heldEvent } = await import('../../ops/events.ts')
  const { hold: _held, ...before } = workflow
  const event = heldEvent(workflow, before, Date.now())
  if (event !== null) show.event(event)
}

const endJson = (workflow: Workflow) => ({
  type: 'order',
  id: workflow.id,
  state: workflow.state,
  check: workflow.note?.check ?? null,
  message: workflow.note?.message ?? null,
  ...(workflow.shadow === true ? shadowJson(workflow) : {}),
})

const shadowJson = ({ shadowed, clearance }: Workflow) => ({
  calls: shadowed?.calls ?? [],
  ask: shadowed?.ask ?? null,
  tokens: (clearance?.predictedTokens ?? []).map(({ token, assets }) => ({ token, assets: String(assets) })),
  gas: String((clearance?.payloads ?? []).reduce((sum, { predicted }) => sum + predicted.gasUsed, 0n)),
  gasWei: shadowed?.outcome === undefined ? null : String(shadowed.outcome.gasWei),
})

function verdictOf({ state, shadowed }: Workflow): string {
  if (state !== 'shadowed') return `it is ${state}`
  // Without the signature that it carries it could not be simulated.
  return shadowed?.outcome?.verdict === 'unscored'
    ? 'the rules allow it, and a key would be asked next'
    : 'the guard clears it'
}

/** Puts names before the addresses of a text: those of the run configuration, and of signers their roles. */
function createNaming({ signer }: Workflow, known: Deployment, place: GivenPlace): (text: string) => string {
  const signers = ownConfigAt(place, null)?.signers ?? []
  const theirs = new Map<string, string>(
    signers.map(({ name, address }) => [address, `the ${name}'s signer`]),
  )
  return (text) =>
    text.replace(ADDRESS, (address) => {
      const whose = theirs.get(address.toLowerCase())
      if (whose !== undefined) return `${whose} ${address}`
      const who = { self: signer }
      return nameOf(address, known, who) === null ? address : nameAddress(address, known, who)
    })
}
const ADDRESS = /0x[0-9a-f]{40}(?![0-9a-f])/gi

/** A refusal with its addresses as they are to be copied: the line of its end has them shortened. Empty where it names none. */
function refusalText({ state, note }: Workflow, named: (text: string) => string): string {
  if (state !== 'refused' || note === undefined || note.message.search(ADDRESS) < 0) return ''
  return `In full: ${note.check}: ${printable(named(note.message), 4_000)}\n`
}

function shadowText(workflow: Workflow, known: Deployment, named: (text: string) => string): string {
  const { calls, ask, tokens, gas, gasWei } = shadowJson(workflow)
  const lines = [
    `Nothing was signed; ${verdictOf(workflow)}.`,
    ...(ask === null ? [] : [`A person would be asked first: ${ask.check}: ${ask.message}`]),
    ...(calls.length === 0 ? [] : ['Calls:', ...calls.map((call) => `  ${named(call)}`)]),
    ...(tokens.length === 0
      ? []
      : ['Tokens:', ...changeLines(workflow.clearance?.predictedTokens ?? [], known)]),
    ...(gasWei === null || gas === '0'
      ? []
      : [`Gas: ${counted(BigInt(gas), 'gas')}, at most ${native(BigInt(gasWei))} at the fee offered`]),
  ]
  return `${lines.join('\n')}\n`
}
