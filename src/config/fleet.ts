import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { invariant, RolekeeperError } from '../errors.ts'
import { whole } from '../service/contract/yaml-scalars.ts'
import { type Endpoint, endpointOf } from './redis.ts'
import { type Origins, pathIn, reference, secret } from './scalars.ts'

/** The name of a fleet, of an instance or of a zone: it stands in keys, where what ends one must not be a part of it. */
export const FLEET_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/

/** Such a name. */
export const named = z
  .string()
  .regex(FLEET_NAME, 'expected 1 to 40 letters, digits, "-" and "_", the first a letter or a digit')

/** The file of who signed a server's certificate, as the text that it holds. */
const certificate = (folder: string) =>
  pathIn(folder).transform((path, context) => {
    try {
      const text = readFileSync(path, 'utf8')
      new X509Certificate(text)
      return text
    } catch {
      const params = { fix: 'name a PEM file with the certificate of who signed that of the server' }
      context.addIssue({ code: 'custom', message: `${path} holds no certificate that can be read`, params })
      return z.NEVER
    }
  })

/** Where the journal is: SQLite in `directory`, or a Redis that a fleet shares. */
export const journal = (folder: string, from: Origins) =>
  z
    .strictObject({
      redis: z
        .strictObject({
          /** `redis://host:6379/0`, or `rediss:` with TLS; who we come as is given beside it. */
          url: reference(from),
          username: z.string().min(1).pipe(reference(from)).optional(),
          password: secret(from).optional(),
          /** Of who signed the server's certificate, where the URL asks for TLS. */
          ca: certificate(folder).optional(),
          /** Replicas that acknowledge what must not be lost: all that may be promoted. */
          replicas: whole(0, 5).default(0),
        })
        .superRefine(({ url, username, password, ca }, context) => {
          if (username !== undefined && password === undefined) {
            const params = { fix: 'give `password` as "env:NAME", or remove `username`' }
            context.addIssue({
              code: 'custom',
              path: ['username'],
              message: 'it stands without a password',
              params,
            })
          }
          try {
            endpointOf(url, ca === undefined ? {} : { ca })
          } catch (error) {
            if (!(error instanceof RolekeeperError)) throw error
            const params = { fix: error.fix?.replace(/\.$/, '') }
            context.addIssue({ code: 'custom', path: ['url'], message: error.shortMessage, params })
          }
        })
        .optional(),
    })
    .prefault({})

/** Who shares the duty on that Redis, and which of them this is. */
export const fleet = (from: Origins) =>
  z
    .strictObject({
      /** What all keys begin with: one fleet has no part of another's. */
      name: named,
      instance: reference(from).pipe(named),
      /** All instances that there are. A new Redis is trusted once each of them has held it against what it knows. */
      roster: z.array(named).min(1, 'expected at least one instance').max(50),
      /** Where this instance is, for seats that prefer it. */
      zone: reference(from).pipe(named).optional(),
      /** A holder is followed so long after its last confirmed beat, and half as much more. */
      leaseMs: whole(500, 60_000).default(8_000),
      /** This instance waits so much longer before it takes what another left or lost. */
      lagMs: whole(0, 600_000).default(0),
    })
    .superRefine(({ instance, roster }, context) => {
      const again = roster.findIndex((name, index) => roster.indexOf(name) !== index)
      if (again !== -1) {
        const message = `roster[${roster.indexOf(roster[again] ?? '')}] has that name already`
        const params = { fix: 'give each instance a name of its own, or remove one' }
        context.addIssue({ code: 'custom', path: ['roster', again], message, params })
      }
      if (!roster.includes(instance)) {
        const message = `this instance is ${instance}, and the roster has ${roster.join(', ')}`
        const params = { fix: 'add it to `fleet.roster` of every instance, or correct its name' }
        context.addIssue({ code: 'custom', path: ['instance'], message, params })
      }
    })

/** What of a run configuration says which Redis a fleet is on. */
type Shared = {
  readonly journal: z.output<ReturnType<typeof journal>>
  readonly fleet?: Pick<z.output<ReturnType<typeof fleet>>, 'name' | 'instance'> | undefined
}

/** Which Redis a fleet is on, and what holds what it acknowledges. */
type StoreConfig = {
  readonly endpoint: Endpoint
  readonly fleet: string
  readonly replicas: number
  readonly instance: string
}

/** Say where a fleet's journal is. Throws BrokenInvariant where there is no fleet. */
export function storeConfigOf({ journal: { redis }, fleet }: Shared): StoreConfig {
  invariant(redis !== undefined && fleet !== undefined, 'the configuration names no fleet')
  const { url, username, password, ca, replicas } = redis
  const endpoint = endpointOf(url, {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: () => password.reveal() }),
    ...(ca === undefined ? {} : { ca }),
  })
  return { endpoint, replicas, fleet: fleet.name, instance: fleet.instance }
}

/** An agent, as far as it says which seat it is of. */
type Seated = {
  readonly role: string
  readonly mode: 'live' | 'shadow'
  readonly zone?: string | undefined
  readonly signer: { readonly address: `0x${string}` }
}

/** Name the seat of an agent: its signer's address in lower case; a shadow, which signs nothing, has one of its own. Pure. */
export const seatOf = ({ role, mode, signer }: Seated): string => {
  const address = signer.address.toLowerCase()
  return mode === 'live' ? address : `shadow:${role}:${address}`
}

/** Name the seats of a configuration, each with the zone that it prefers, where it does. Pure. */
export function seatsOf({ agents }: { readonly agents: readonly Seated[] }): readonly {
  readonly name: string
  readonly zone?: string
}[] {
  return [...Map.groupBy(agents, seatOf)].map(([name, of]) => {
    const zone = of.find((agent) => agent.zone !== undefined)?.zone
    return { name, ...(zone === undefined ? {} : { zone }) }
  })
}

/** Choose the agents of a seat. Pure. */
export const agentsOf = <A extends Seated>(
  seat: string,
  { agents }: { readonly agents: readonly A[] },
): readonly A[] => agents.filter((agent) => seatOf(agent) === seat)
