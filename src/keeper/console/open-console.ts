import { type RunConfig, secretsOf } from '../../config/config.ts'
import { printable } from '../../errors.ts'
import type { JournalReads } from '../../journal/journal.ts'
import { type Console, startConsole } from '../../ops/console/server.ts'
import type { Log } from '../../ops/log.ts'
import { createScrubber } from '../../ops/scrub.ts'
import { liveOf } from '../health/keeper-view.ts'
import { doDeed } from './deeds.ts'
import { createFlows } from './flows.ts'
import { type PartsDeps, readParts, TEXT_MAX } from './parts.ts'
import { findWhy, type Why } from './why.ts'

type OpenDeps = Omit<PartsDeps, 'config' | 'clean' | 'startedAtMs' | 'flows'> & {
  readonly log: Log
  readonly onEvent: Parameters<typeof createFlows>[0]
}

/** Open the console of a keeper; null where its configuration has none. Throws what listening throws. */
export async function openConsole(config: RunConfig, deps: OpenDeps): Promise<Console | null> {
  if (config.console === undefined) return null
  const { looked, log } = deps
  const { nowMs, monotonicMs } = looked.clock
  const scrub = createScrubber(() => secretsOf(config))
  const clean = (text: string) => scrub(printable(text, TEXT_MAX))
  const parts = {
    ...deps,
    config,
    clean,
    startedAtMs: nowMs(),
    flows: createFlows(deps.onEvent, config.deployment),
  }
  return startConsole(
    { ...config.console, directory: config.directory },
    {
      nowMs,
      monotonicMs,
      clean,
      log,
      read: () => readParts(parts),
      why: (about) => whyOf(about, parts),
      act: async (deed, by) => doDeed(deed, by, { config, nowMs, live: () => liveOf(looked) }),
    },
  )
}

/** In a fleet the seats that are held here say what they decided. */
async function whyOf(about: string, { looked, config }: PartsDeps): Promise<Why> {
  const journals = new Set(looked.terms().map(({ records }): JournalReads => records.journal))
  const found = await Promise.all([...journals].map((each) => findWhy(about, each, config.deployment)))
  return {
    about,
    workflows: found.flatMap(({ workflows }) => workflows),
    decisions: found.flatMap(({ decisions }) => decisions),
  }
}
