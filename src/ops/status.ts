import { request } from 'node:http'
import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { FACET_STATES, FACETS } from './facet.ts'

const because = z.object({
  check: z.string(),
  message: z.string(),
  count: z.int(),
  /** When it refused a workflow last, ISO 8601; absent where it stands in the last decision alone. */
  refusedAt: z.string().optional(),
})

const late = z.object({
  what: z.string(),
  subject: z.string(),
  /** ISO 8601. */
  since: z.string(),
  amount: z.string().nullable(),
  /** The rule that leaves it alone. */
  check: z.string().nullable(),
  message: z.string(),
})

const budget = z.object({
  name: z.string(),
  /** Used of it; 1 is all. */
  part: z.number(),
  used: z.string(),
  limit: z.string(),
  left: z.string(),
  /** When the first of what counts in it is free again, ISO 8601. */
  frees: z.string().nullable(),
})

const roleStatus = z.object({
  role: z.string(),
  signer: z.string(),
  mode: z.enum(['live', 'shadow']),
  state: z.enum(['up', 'opening', 'down']),
  /** Of one that is down. */
  why: z.string().nullable(),
  lastAct: z.string().nullable(),
  lastProposal: z.string().nullable(),
  nextDue: z.string().nullable(),
  acts: z.int(),
  lookedAt: z.int().nullable(),
  /** The worst five of `lateCount`. */
  late: z.array(late),
  lateCount: z.int(),
  /** Why it does no more, the first reason first. */
  because: z.array(because),
  budgets: z.array(budget),
  /** What workflows under way may move, of the whole role, US dollars times 10^6. */
  exposureUsdMicros: z.string(),
  /** What its signers hold, whole tokens by symbol. */
  inventory: z.record(z.string(), z.number()),
  live: z.int(),
  held: z.int(),
  /** Since midnight UTC, as `pnl` counts it; null until it is known. US dollars times 10^6. */
  realizedTodayUsdMicros: z.string().nullable(),
  markedTodayUsdMicros: z.string().nullable(),
})

/** How a keeper stands: what `/status` answers. Times are ISO 8601. */
const keeperStatus = z.object({
  at: z.string(),
  environment: z.string(),
  chainId: z.int(),
  directory: z.string(),
  version: z.string(),
  startedAt: z.string(),
  ready: z.boolean(),
  /** Where the audit ends on disk, as `rolekeeper audit verify --head` takes it. */
  auditHead: z.string(),
  facets: z.array(
    z.object({
      facet: z.enum(FACETS),
      about: z.string(),
      state: z.enum(FACET_STATES),
      code: z.string(),
      message: z.string(),
      fix: z.string().optional(),
      because: z.string().optional(),
      since: z.string(),
    }),
  ),
  roles: z.array(roleStatus),
  nodes: z.array(
    z.object({
      node: z.string(),
      state: z.string(),
      head: z.string().nullable(),
      blocksBehind: z.int().nullable(),
      errors: z.int(),
    }),
  ),
  approvals: z.array(
    z.object({
      id: z.string(),
      role: z.string(),
      workflowType: z.string(),
      /** What it asks for, in a line; absent from a keeper of an earlier release. */
      summary: z.string().optional(),
      check: z.string(),
      message: z.string(),
      expires: z.string(),
    }),
  ),
})
export type KeeperStatus = z.infer<typeof keeperStatus>
export type RoleStatus = z.infer<typeof roleStatus>

/** A keeper answers from memory, but for its journal. */
const ANSWER_MS_MAX = 5_000

/**
 * Ask the keeper that listens at a URL how it stands.
 * @throws RolekeeperError `keeper.silent` when it does not answer, or not as this release does.
 */
export async function askStatus(opsUrl: string): Promise<KeeperStatus> {
  try {
    return keeperStatus.parse(JSON.parse(await get(`${opsUrl}/status`)))
  } catch (cause) {
    throw new RolekeeperError('keeper.silent', `The keeper at ${opsUrl} did not say how it stands.`, {
      fix: 'look whether its process hangs; one of another release is asked by its own command.',
      facts: { opsUrl },
      cause,
    })
  }
}

const get = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, signal: AbortSignal.timeout(ANSWER_MS_MAX) }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        body += part
      })
      response.on('error', reject)
      response.on('end', () => resolve(body))
    })
    asked.on('error', reject)
    asked.end()
  })
