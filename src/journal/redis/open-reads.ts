import type { JournalReads } from '../journal.ts'
import { nameOf, openLine } from './connect.ts'
import { COMMAND_MS, meet, type StoreConfig } from './generation.ts'
import { keysOf } from './keys.ts'
import { createLink } from './link.ts'
import { RedisReads } from './reads.ts'

/**
 * Read a fleet's journal from any process, beside its instances. It loads no scripts, which a server would keep, and looks at
 * no settings: what is wrong with them is for people to see, too. Each read throws RolekeeperError `journal.not_founded`,
 * `journal.version`, and what a line throws.
 */
export function readRedisJournal({ endpoint, fleet, instance }: Omit<StoreConfig, 'replicas'>): JournalReads {
  const link = createLink({
    open: (number) =>
      openLine(endpoint, { number, timeoutMs: COMMAND_MS, name: `rolekeeper:${instance}:reads` }),
    verify: async (line) => {
      await meet(line, fleet, null, '')
    },
    server: nameOf(endpoint),
  })
  return new RedisReads({
    keys: keysOf(fleet),
    read: (command, ...args) => link.use((line) => line.call(command, ...args)),
    close: link.close,
  })
}
