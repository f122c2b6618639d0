import { FLEET_NAME } from '../../../config/fleet.ts'
import { invariant } from '../../../errors.ts'
import type { Role } from '../../../service/contract/roles.ts'

/** The names of all fleets of a database, for who looks for another one. */
export const FLEETS_KEY = 'rk:fleets'

/** Every key of a fleet: see docs/fleet-journal.md for what each holds. */
export type Keys = ReturnType<typeof keysOf>

/** Name the keys of a fleet. All have one hash tag. Throws BrokenInvariant for a name that is none. Pure. */
export function keysOf(fleet: string) {
  invariant(FLEET_NAME.test(fleet), `the fleet's name ${fleet} is not of letters, digits, "-" and "_"`)
  const key = (name: string) => `{rk:${fleet}}:${name}`
  return {
    /** Hash: gen, parent (all that it followed, newest first), seq, format, server (that it began on), budgets (seq), doubted. */
    meta: key('meta'),
    /** Hash: killed, paused, `safe:<seat>`, and `left:<seat>` of who left it. */
    control: key('control'),
    /** Hash: name of an instance → incarnation, arrival, beat, and what it says of itself. */
    instances: key('instances'),
    /** List of server processes that it was on, and the sequence that each began with. */
    runs: key('runs'),
    /** Set of instances that hold a server against what they witnessed. */
    attested: (runId: string) => key(`attested:${runId}`),
    /** Set of instances that ever had a witness; hash: instance → what it knew, of those that found Redis to have forgotten. */
    witnesses: key('witnesses'),
    forgotten: key('forgotten'),
    /** Hash: token, holder, beat, epoch, server, since; `line:<client>` is the newest line of each writer. */
    seat: (seat: string) => key(`seat:${seat}`),
    /** Set of all seats that were ever held. */
    seats: key('seats'),
    /** Hash: v, op, state, live, body; once the body left, who has it, and its nonces and digests. */
    workflow: (id: string) => key(`wf:${id}`),
    /** List of transitions. */
    transitions: (id: string) => key(`tr:${id}`),
    /** Hash: opportunity → its newest round, as JSON; kept for good. */
    opportunities: key('opps'),
    /** Sorted set of what is live of a seat, by when it was opened. */
    live: (seat: string) => key(`live:${seat}`),
    /** Sorted sets of what ended of a seat, by when, and of what of that has its body in an archive; whose, a set. */
    ended: (seat: string) => key(`ended:${seat}`),
    left: (seat: string) => key(`left:${seat}`),
    archives: key('archives'),
    /** Set of roles that opened something. */
    roles: key('roles'),
    /** Sorted set of all of a role, by when it was opened. */
    role: (role: Role) => key(`role:${role}`),
    /** Sorted sets of what ended in shadow, and of a role's whose lot is not decided, by when it was opened. */
    shadowed: key('shadowed'),
    undecided: (role: Role) => key(`undecided:${role}`),
    /** Hash: id → brief of what is live. */
    brief: key('brief'),
    /** Sorted set of ids by the sequence of the last change of their brief, those that ended included. */
    briefs: key('briefs'),
    /** Hash: id → `shadow` or `live`, and the role. */
    lot: (lot: string) => key(`lot:${lot}`),
    /** Hash: next, top (the highest that was claimed), forgotten (below it, what is not here ended long ago), nonce → id. */
    nonces: (chainId: number, signer: string) => key(`nonces:${chainId}:${signer.toLowerCase()}`),
    /** Hash: digest → entry. */
    digests: key('digests'),
    /** Hash: rev, id → reservation; sorted sets of its ids by time, and by the sequence of their last change. */
    budget: (role: Role) => key(`budget:${role}`),
    budgetTimes: (role: Role) => key(`budget:${role}:times`),
    budgetChanges: (role: Role) => key(`budget:${role}:changes`),
    /** Sorted set of hashes that are due; hashes: hash → row, hash → tries and the op that counted the last. */
    outbox: (seat: string) => key(`outbox:${seat}`),
    outboxRows: (seat: string) => key(`outbox:${seat}:rows`),
    outboxTries: (seat: string) => key(`outbox:${seat}:tries`),
    /** Hash: id of a person's order → when it was placed, and what it says. */
    orders: (seat: string) => key(`orders:${seat}`),
    /** What came of an order; hash: what was held → a person's verdict. Both expire. */
    reply: (orderId: string) => key(`reply:${orderId}`),
    answers: (workflowId: string) => key(`answers:${workflowId}`),
    /** Hash: key → value. */
    values: key('values'),
    /** List of decisions, newest first; hash: role → the op of the last addition. */
    decisions: (role: Role) => key(`decisions:${role}`),
    decisionOps: key('decisions'),
  }
}
