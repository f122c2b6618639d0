import { z } from 'zod'
import { RolekeeperError } from '../../../src/errors.ts'
import type { FailureStatus } from '../http/api-error.ts'

/** Where faults are read, set and ended; no part of the service's API. */
export const FAULTS_PATH = '/sandbox-control/faults'

/** Ways to prepare what nobody asked for: the guard must refuse each. */
export const HOSTILITIES = [
  'foreign_target',
  'larger_approval',
  'foreign_spender',
  'changed_recipient',
  'native_value',
  'trailing_bytes',
  'extra_intent',
  'foreign_domain',
] as const
export type Hostility = (typeof HOSTILITIES)[number]

const STATUSES = [400, 401, 403, 409, 429, 500] as const satisfies readonly FailureStatus[]

const probability = z.number().min(0).max(1)
const ms = z.number().int().min(0)

/** A regular expression, matched against a request's path and query. */
const pattern = z
  .string()
  .min(1)
  .max(200)
  .transform((text, context) => {
    try {
      return new RegExp(text)
    } catch {
      context.addIssue({ code: 'custom', message: 'expected a regular expression' })
      return z.NEVER
    }
  })

const streamFault = z
  .strictObject({
    /** Say nothing at all, heartbeats included, and stay connected. */
    silent: z.boolean().optional(),
    /** Of the messages, heartbeats included: lost, sent twice, or sent after the next one. */
    drop: probability.optional(),
    duplicate: probability.optional(),
    reorder: probability.optional(),
    /** The same seed loses the same messages of the same run. */
    seed: z.number().int().default(1),
  })
  .readonly()
export type StreamFault = z.output<typeof streamFault>

/** What the sandbox is asked to do wrong, as JSON. Strict: a fault that is silently ignored would prove nothing. */
export const faultSchema = z
  .strictObject({
    /** Wait this long before every answer. */
    latencyMs: ms.max(60_000).optional(),
    /** Do what is asked on a path that matches, then cut the connection instead of answering. */
    dropReply: pattern.optional(),
    /** Answer this status on a path that matches, and do nothing. */
    fail: z
      .strictObject({
        path: pattern,
        status: z.literal(STATUSES),
        /** For the `Retry-After` header. */
        retryAfterS: z.number().int().min(0).max(3_600).optional(),
      })
      .readonly()
      .optional(),
    hostile: z.enum(HOSTILITIES).optional(),
    /** Block every preflight, with this reason. */
    blockPreflight: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,99}$/)
      .optional(),
    /** Serve canonical state and its events this late; `admits` says whether freshness shows it. */
    indexer: z
      .strictObject({ lagMs: ms, admits: z.boolean().default(true) })
      .readonly()
      .optional(),
    stream: streamFault.optional(),
  })
  .readonly()

/** What the service does wrong on purpose, for rehearsals and tests. An empty object is good behaviour. */
export type Fault = z.output<typeof faultSchema>

/** Read faults from a command line. Throws RolekeeperError `sandbox.fault` for anything but JSON that names known faults. */
export function readFault(text: string): Fault {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new RolekeeperError('sandbox.fault', 'The faults are not JSON.', {
      fix: 'quote them for the shell, for example: --fault \'{"latencyMs":200}\'.',
      cause,
    })
  }
  const parsed = faultSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.') ?? ''
  throw new RolekeeperError(
    'sandbox.fault',
    `The faults do not fit at ${path === '' ? 'their root' : path}.`,
    {
      fix: 'see "Faults" in docs/scenarios-and-faults.md for their names and values.',
    },
  )
}

/** What the service does wrong at the moment. */
export type FaultSwitch = {
  readonly now: () => Fault
  /** Behave so from now on; `{}` ends it. */
  readonly set: (fault: Fault) => void
}

/** Create the switch of one service, which starts with a fault or with none. */
export function createFaultSwitch(first: Fault = {}): FaultSwitch {
  let fault = first
  return {
    now: () => fault,
    set: (next) => {
      fault = next
    },
  }
}
