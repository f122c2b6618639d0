import { expect, it } from 'vitest'
import { approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { createSaving, type SavingDeps } from '../../../src/keeper/stages/save.ts'
import type { Gate } from '../../../src/ops/control.ts'
import { requestOf } from '../../../src/pipeline/request.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { CHAIN_ID, deployment, NOW_MS, SELF } from '../../guard/fixtures.ts'
import { ROLE } from '../../guard/rules.ts'
import { HONEST, proposal, ruleset } from '../../guard/saving.ts'
import { workflowOf } from '../../support/workflows.ts'

const { assets } = deployment
const approval = compileApproval(
  approvalPolicy(assets).parse({ always: [], aboveAssets: {}, expiresAfter: '15 min' }),
  { assets },
)
const OPEN: Gate = { closed: false, paused: false }
const pinned = [...deployment.vaults, ...deployment.markets, ...deployment.assets, ...deployment.contracts]
/** The chain as it is pinned, now. */
const simulate = async ({ codeAt }: { readonly codeAt: readonly string[] }) => ({
  block: { timestampS: NOW_MS / 1_000 },
  timestampS: NOW_MS / 1_000,
  before: [],
  after: [],
  words: [],
  codeHashes: codeAt.map((at) => pinned.find(({ address }) => address === at)?.codeHash),
})
const bare = workflowOf('requested', { role: ROLE, chainId: CHAIN_ID, signer: SELF, proposal })
const sent = (changes: Partial<NonNullable<Workflow['request']>> = {}): Workflow => ({
  ...bare,
  request: { ...requestOf(bare, ruleset.deployment.namespace), sentAtMs: NOW_MS, ...changes },
})

/** Take one step, where something may happen while the session is opened. @returns what it came to, and what was posted. */
async function saved(workflow: Workflow, meanwhile: () => void = () => undefined, gate = () => OPEN) {
  const posted: string[] = []
  const deps = {
    nowMs: () => NOW_MS,
    ruleset,
    approval,
    gate,
    nodes: { simulate },
    client: {
      prepareWorkflow: async ({
        bodyText,
        ready,
      }: {
        readonly bodyText: string
        readonly ready: () => void
      }) => {
        ready()
        posted.push(bodyText)
        return { bytes: 'bytes', answer: HONEST }
      },
    },
    session: {
      use: async (read: (token: string) => Promise<unknown>) => {
        meanwhile()
        return { ok: true, value: await read('token') }
      },
    },
  }
  const step = await createSaving(deps as unknown as SavingDeps)(workflow)
  const came = step.type === 'wait' ? 'waits' : `${step.workflow.state} ${step.workflow.note?.check ?? ''}`
  return { came: came.trim(), posted }
}

it('posts what was judged, and nothing else that its record holds', async () => {
  const { body, idempotencyKey } = requestOf(bare, ruleset.deployment.namespace)
  expect(await saved(sent())).toEqual({ came: 'prepared', posted: [body] })
  const others = [{ body: body.replace('Anna', 'Mallory') }, { idempotencyKey: `${idempotencyKey}0` }]
  for (const other of others)
    expect(await saved(sent(other))).toEqual({ came: 'quarantined record_not_requested', posted: [] })
})

it('posts nothing once it is stopped, also where that comes while the session is opened', async () => {
  let gate = OPEN
  const pause = () => {
    gate = { ...OPEN, paused: true }
  }
  expect(await saved(sent(), pause, () => gate)).toEqual({ came: 'waits', posted: [] })
})
