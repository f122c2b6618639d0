import type { JournalReads } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import type { OutgoingMail } from '../../ops/mail.ts'
import type { KeeperPlace } from '../target/place.ts'

/** A way for orders to who works at a place, and what is read there. */
export type Desk = { readonly mail: OutgoingMail; readonly journal: JournalReads }

/** Order something at a place: of the keeper of its directory, or of the fleet that it is in. Throws what `work` throws. */
export const order = <T>(place: KeeperPlace, work: (desk: Desk) => Promise<T>): Promise<T> =>
  readJournal(place, async (journal) => {
    const mail = await openMail(place, journal)
    try {
      return await work({ mail, journal })
    } finally {
      await mail.close()
    }
  })

async function openMail({ directory, shared }: KeeperPlace, journal: JournalReads): Promise<OutgoingMail> {
  if (shared === undefined) {
    const { fileOutgoing } = await import('../../ops/mail.ts')
    return fileOutgoing(directory, journal)
  }
  const { fleetOutgoing } = await import('../../fleet/mail.ts')
  if (shared.queue === 'timers') return fleetOutgoing({ ...shared, wake: async () => undefined })
  const { createWaker } = await import('../../queue/waker.ts')
  const { systemClock } = await import('../../clock.ts')
  const { endpoint, fleet } = shared.store
  // What it cannot wake looks by itself a second later.
  const waker = createWaker({ ...endpoint, fleet }, systemClock, () => undefined)
  const mail = fleetOutgoing({ ...shared, wake: waker.wake })
  const close = async () => {
    await mail.close()
    await waker.close()
  }
  return { ...mail, close }
}
