import { globSync, readFileSync } from 'node:fs'
import type { Hex } from 'viem'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { attest } from '../../../src/pipeline/attest.ts'
import { prepare } from '../../../src/pipeline/prepare.ts'
import { admitWhole } from '../../../src/service/admit.ts'
import { OPERATIONS } from '../../../src/service/contract/operations.ts'
import { RESPONSE_BYTES_MAX } from '../../../src/service/http.ts'
import { readJson } from '../../../src/service/json.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { CHAIN_ID, NOW_MS, SELF } from '../../guard/fixtures.ts'
import type { Kind } from '../../guard/kind.ts'
import { answerOf, NAV_DIGEST } from '../../guard/kinds.ts'
import { workflowOf } from '../../support/workflows.ts'
import type { Aim, Attack, Served } from './attack.ts'

/** How an attack ended: the state and check that the workflow came to, why, and each digest that a key was asked for. */
export type Outcome = {
  readonly state: string
  readonly check: string
  readonly message: string
  readonly asked: readonly Hex[]
}

/** A kind of workflow with the rules that hold it, as something to attack. */
export const aimOf = (kind: Kind, ruleset: Ruleset): Aim => ({
  ruleset,
  proposal: kind.proposal,
  self: SELF,
  answer: answerOf(kind, kind.drafts),
  ...(kind.name === 'report' ? { digest: NAV_DIGEST } : {}),
})

/** The exact text that is served. */
export const textOf = (served: Served): string =>
  'text' in served ? served.text : JSON.stringify('json' in served ? served.json : served)

/** Read a text as the service's client reads a prepared workflow. */
function read(text: string) {
  if (text.length > RESPONSE_BYTES_MAX) {
    throw new RolekeeperError('service.too_large', 'It is too large.', { fix: 'none' })
  }
  const garbage = (why: string) => new RolekeeperError('service.garbage', why, { fix: 'none' })
  const json = readJson(text)
  if (!json.ok) throw garbage(json.message)
  const kept = admitWhole(text, json.value)
  if (kept !== null) throw garbage(kept)
  const parsed = OPERATIONS.prepareWorkflow.answer.schema.safeParse(json.value)
  if (!parsed.success) throw garbage('it does not fit')
  return { bytes: text, answer: parsed.data }
}

/** Serve a text to a workflow that waits for its answer, and carry it as far as it gets before the chain is asked. */
export async function serve({ proposal, ruleset, digest: recorded }: Aim, text: string): Promise<Outcome> {
  const asked: Hex[] = []
  const { prepared: _none, ...bare } = workflowOf('requested')
  const requested: Workflow = {
    ...bare,
    role: ruleset.role,
    chainId: CHAIN_ID,
    signer: SELF,
    proposal,
    request: { idempotencyKey: bare.id, body: '{}' },
  }
  const nowMs = () => NOW_MS
  let step = await prepare(requested, { nowMs, post: async () => read(text) })
  if (step.type === 'moved' && step.workflow.state === 'prepared') {
    // As if the digest had been recorded: nothing is left but to sign it.
    const attestation = recorded === undefined ? {} : { attestation: { digest: recorded } }
    const prepared = { ...step.workflow, ...attestation }
    step = await attest(prepared, {
      nowMs,
      ruleset,
      nodes: {
        simulate: async () => Promise.reject(new Error('no hostile answer comes so far')),
      },
      journal: {
        enterDigest: async () => {},
        ordered: async () => {},
        writeBound: async (workflow) => workflow,
      },
      signer: {
        address: SELF,
        keyId: 'a key',
        signDigest: async (digest) => {
          asked.push(digest)
          throw new Error('no key may be asked')
        },
      },
      gate: () => ({ closed: false, paused: false }),
      alarm: () => undefined,
    })
  }
  if (step.type === 'wait') return { state: step.type, check: '', message: '', asked }
  const { state, note } = step.workflow
  return { state, check: note?.check ?? '', message: note?.message ?? '', asked }
}

/** What an attack is expected to end with: what cannot be shown as it is stays outside, before a check has seen it. */
export function expectedOf({ check }: Attack, aim: Aim, served: Served | null): string {
  if (typeof check === 'string' && check.startsWith('service.')) return check
  const json = served === null ? null : readJson(textOf(served))
  if (json?.ok === true && admitWhole(textOf(served ?? aim.answer), json.value) !== null)
    return 'service.garbage'
  return typeof check === 'string' ? check : check(aim)
}

const SOURCES = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'))

/** Whether a check of this name is anywhere in the sources: an attack whose check is not is open. */
export const isKnown = (check: string): boolean =>
  check.startsWith('parameter_') || SOURCES.some((source) => source.includes(`'${check}'`))
