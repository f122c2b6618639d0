import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { admitController } from './http/control.ts'
import { CONTROL_PREFIX } from './http/http.ts'
import { parseBody } from './http/parse-body.ts'

/** Prices and people beside the caller, as far as they can be held still. */
export type StoryControl = {
  /** Resolves when no tick is being carried out; what it sent may be mined in the next block. */
  readonly pause: () => Promise<void>
  readonly resume: () => void
  readonly isPaused: () => boolean
}

const wanted = z.strictObject({ paused: z.boolean() })

/** Serve GET and PUT /sandbox-control/story with `{"paused": true}`: blocks go on, and nothing happens in them by itself. */
export function serveStoryControl(app: FastifyInstance, token: string, story: Promise<StoryControl>): void {
  const [url, onRequest] = [`${CONTROL_PREFIX}story`, admitController(token)]
  const state = async () => ({ paused: (await story).isPaused() })
  app.route({ method: 'GET', url, onRequest, handler: state })
  app.route<{ Body: { value: unknown } | undefined }>({
    method: 'PUT',
    url,
    onRequest,
    handler: async ({ body }) => {
      const { paused } = parseBody(wanted, body?.value)
      const { pause, resume } = await story
      await (paused ? pause() : resume())
      return state()
    },
  })
}
