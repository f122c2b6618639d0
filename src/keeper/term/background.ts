import { type Refusal, RolekeeperError, refuse } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Log } from '../../ops/log.ts'
import type { Mail } from '../../ops/mail.ts'
import { roleAbsent } from '../../ops/orders.ts'
import { registerDue } from '../../pipeline/register.ts'
import type { ServiceClient } from '../../service/client.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { RoleOrders } from '../role/open-proposal.ts'
import type { SignerDesk } from '../signer/desk.ts'
import { takeSignerOrders } from '../signer/orders.ts'
import type { Staff } from './staff.ts'
import { takeSubmissions } from './submissions.ts'

const REGISTER_MS = 500

/** A doubt about a signer that passes is over this soon. */
const DESK_MS = 2_000

/** What bids in shadow were for is decided in minutes. */
const SHADOWS_MS = 5_000

/** A workflow that was opened while Redis was away waits so long at most: nothing else is late by it. */
const TAKE_UP_MS = 5_000

/** What the background work needs. */
export type BackgroundDeps = {
  readonly nowMs: () => number
  readonly mail: Mail
  readonly journal: Journal
  /** With the keeper's own key, for what is of no staffed role. */
  readonly client: ServiceClient
  readonly desk: SignerDesk
  readonly staff: Pick<Staff, 'atWork' | 'states' | 'of'>
  /** Take up what the journal has and nobody goes on with. */
  readonly takeUp: () => Promise<void>
  /** Why nothing new may begin, `for_now` where that passes by itself, or null. */
  readonly stopped: (role: Role) => Refusal | 'for_now' | null
  /** Whether orders are left for the next start. */
  readonly leavesOrders: () => boolean
  readonly log: Log
}

/** What a keeper does again and again, beside the chain's path. */
export type Background = {
  /** Register with the service now what was sent. */
  readonly register: () => void
  /** Take people's orders now. */
  readonly takeOrders: () => void
  /** Resolves when what goes on has ended; nothing begins any more. */
  readonly stop: () => Promise<void>
}

/** Start registering what was sent, taking people's orders, and marking what ended in shadow. */
export function startBackground(deps: BackgroundDeps): Background {
  const { nowMs, mail, journal, staff, log } = deps
  const onRefused = (hash: string, error: RolekeeperError) =>
    log.warn('the service refused a registration', { hash }, error)
  const tasks = {
    register: createTask(
      () => registerDue({ nowMs, journal, post: (row, key, body) => post(row, key, body, deps), onRefused }),
      (error) => log.error('registration failed', {}, error),
    ),
    orders: createTask(
      () => takeSubmissions({ mail, role: (role) => ordersOf(role, staff), stopped: deps.stopped }),
      (error) => log.error('orders were not taken', {}, error),
    ),
    takeUp: createTask(deps.takeUp, (error) => log.warn('what is live could not be read', {}, error)),
    desk: createTask(deps.desk.look, (error) => log.warn('signers were not compared', {}, error)),
    signerOrders: createTask(
      () => takeSignerOrders(deps.desk, mail),
      (error) => log.error('orders about signers were not taken', {}, error),
    ),
    shadows: createTask(
      () => Promise.all(staff.atWork().map(({ shadowScores }) => shadowScores.look())),
      (error) => log.warn('what ended in shadow could not be marked', {}, error),
    ),
  }
  const takeOrders = () => {
    if (deps.leavesOrders()) return
    tasks.orders.begin()
    tasks.signerOrders.begin()
  }
  const timers = [
    setInterval(tasks.takeUp.begin, TAKE_UP_MS),
    setInterval(tasks.register.begin, REGISTER_MS),
    setInterval(takeOrders, mail.everyMs),
    setInterval(tasks.desk.begin, DESK_MS),
    setInterval(tasks.shadows.begin, SHADOWS_MS),
  ]
  return {
    register: tasks.register.begin,
    takeOrders,
    stop: async () => {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(Object.values(tasks).map((task) => task.stop()))
    },
  }
}

/**
 * Create a task of which one run goes on at a time: begun meanwhile, it is that run. What it fails for is said once, until it
 * succeeds: a journal that is away for a minute is one failure.
 */
function createTask(work: () => Promise<unknown>, onFailed: (error: unknown) => void) {
  const codes = new Set<string>()
  let under: Promise<unknown> | undefined
  let stopped = false
  const failed = (error: unknown) => {
    const code = error instanceof RolekeeperError ? error.code : 'unexpected'
    if (!codes.has(code)) onFailed(error)
    codes.add(code)
  }
  return {
    begin: (): void => {
      if (stopped) return
      under ??= work()
        .then(() => codes.clear(), failed)
        .finally(() => {
          under = undefined
        })
    },
    stop: async (): Promise<void> => {
      stopped = true
      await under
    },
  }
}

/** Where orders to a role go, or why there is no such place; null while that may change by itself. */
function ordersOf(role: Role, staff: BackgroundDeps['staff']): RoleOrders | Refusal | null {
  const place = staff.states().find(({ agent }) => agent.role === role)
  if (place === undefined) {
    return roleAbsent(
      role,
      staff.states().map(({ agent }) => agent.role),
    )
  }
  const { state } = place
  if (state.type === 'up') return state.role.orders
  if (state.type === 'opening' || state.reason.retry !== 'never') return null
  return refuse('role_down', `The ${role} does not work: ${state.reason.message}`)
}

/** Register with the key of the role that sent it. */
async function post(
  { workflowId, requestId }: Parameters<Parameters<typeof registerDue>[0]['post']>[0],
  idempotencyKey: string,
  body: Parameters<Parameters<typeof registerDue>[0]['post']>[2],
  { journal, staff, client: own }: BackgroundDeps,
): Promise<void> {
  const workflow = await journal.get(workflowId)
  const client = (workflow === null ? undefined : staff.of(workflow)?.client) ?? own
  await client.registerTransaction({ params: { requestId }, body, idempotencyKey })
}
