/**
 * The service in a process of its own, so that its memory can be measured and its death be seen. It tells its parent
 * where it listens; at each message it collects its garbage and tells what it holds and what crashed inside.
 */
import { startFixture } from '../fixture.ts'

/** What this process says. */
export type ShellTold =
  | { readonly url: string; readonly dbFile: string }
  | { readonly heapBytes: number; readonly rssBytes: number; readonly crashes: readonly string[] }

const tell = (told: ShellTold) => process.send?.(told)

const f = await startFixture({ rateLimit: { requestsMax: 1_000_000, windowMs: 1_000_000 } })
process.on('message', () => {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  tell({ heapBytes: heapUsed, rssBytes: rss, crashes: f.crashes.map(String) })
})
process.on('disconnect', () => void f.stop())
tell({ url: f.service.url, dbFile: f.dbFile })
