import type { FastifyInstance } from 'fastify'
import { admitController } from '../http/control.ts'
import { parseBody } from '../http/parse-body.ts'
import { FAULTS_PATH, type Fault, faultSchema } from './faults.ts'

/** The faults that are on, and who may change them: `Authorization: Bearer <token>`. */
type FaultControl = {
  readonly token: string
  readonly now: () => Fault
  readonly set: (fault: Fault) => void
}

/** Serve GET (the faults), PUT (exactly these from now on) and DELETE (good behaviour) beside the operations. */
export function serveFaultControl(app: FastifyInstance, { token, now, set }: FaultControl): void {
  const admit = admitController(token)
  app.route({ method: 'GET', url: FAULTS_PATH, onRequest: admit, handler: async () => written(now()) })
  app.route({
    method: 'PUT',
    url: FAULTS_PATH,
    onRequest: admit,
    handler: async ({ body }) => {
      const given = body as { readonly value: unknown } | undefined
      set(parseBody(faultSchema, given?.value))
      return written(now())
    },
  })
  app.route({
    method: 'DELETE',
    url: FAULTS_PATH,
    onRequest: admit,
    handler: async () => {
      set({})
      return written(now())
    },
  })
}

/** As it was given: a pattern is its text, in which JavaScript alone escapes a slash. */
const written = (fault: Fault): unknown =>
  JSON.parse(
    JSON.stringify(fault, (_key, value) =>
      value instanceof RegExp ? value.source.replaceAll('\\/', '/') : value,
    ),
  )
