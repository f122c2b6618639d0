/** The keeper as it works alone, in a process of its own: its pipeline on a journal on disk, with its audit or without. */

import { DatabaseSync, StatementSync } from 'node:sqlite'
import { systemClock } from '../../../src/clock.ts'
import { withAudit } from '../../../src/keeper/records/audited-journal.ts'
import { openRecords } from '../../../src/keeper/records/records.ts'
import { openKeeperAudit } from '../../../src/keeper/telemetry/audit.ts'
import { createTimers } from '../../../src/queue/timers.ts'
import { newDirectory } from '../../support/directory.ts'
import { connectOutside, createPipeline, say, signerOf } from './throughput-pipeline.ts'
import { contend, type ThroughputSettings } from './throughput-world.ts'

contend(startAlone, timeJournal().longestMs)

async function startAlone(settings: ThroughputSettings) {
  const signers = settings.keys.map(signerOf)
  // With the watermark: every state that a keeper makes durable is.
  const directory = newDirectory()
  const records = await openRecords(
    {
      directory,
      chain: { id: settings.chainId },
      agents: signers.map((signer) => ({ mode: 'live', signer })),
    },
    { clock: systemClock, alarm: ({ message }) => say(message) },
  )
  const journal =
    process.argv[2] === 'unaudited'
      ? records.journal
      : withAudit(records.journal, await openKeeperAudit(directory, { clock: systemClock }), [])
  const { carry } = await createPipeline({
    settings,
    signers,
    journal,
    createQueue: createTimers,
    resumed: [],
    onMove: () => {},
    ...(await connectOutside(settings)),
    safe: (signer, { message }) => say(`${signer} is SAFE: ${message}`),
    gate: () => ({ closed: false, paused: false }),
  })
  return carry
}

/** Time all that SQLite does: every call of it holds the event loop. @returns the longest since the last time it was asked. */
function timeJournal() {
  let longest = 0
  const timed = <T extends object, K extends keyof T>(target: T, name: K) => {
    const work = target[name]
    if (typeof work !== 'function') return
    Object.defineProperty(target, name, {
      value(this: unknown, ...given: unknown[]) {
        const startedMs = performance.now()
        try {
          return Reflect.apply(work, this, given)
        } finally {
          longest = Math.max(longest, performance.now() - startedMs)
        }
      },
    })
  }
  timed(DatabaseSync.prototype, 'exec')
  for (const name of ['run', 'all', 'get'] as const) timed(StatementSync.prototype, name)
  return {
    longestMs: () => {
      const found = longest
      longest = 0
      return found
    },
  }
}
