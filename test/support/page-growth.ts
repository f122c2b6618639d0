import type { CDPSession, Page } from 'playwright-core'

/** What a page holds once its garbage is gone. */
export type PageSize = { readonly heapBytes: number; readonly nodes: number; readonly listeners: number }

/** Measure what a page holds: what is detached and kept counts, as it is what a leak is made of. */
export async function sizeOf(page: Page): Promise<PageSize> {
  const session = await page.context().newCDPSession(page)
  try {
    await session.send('Performance.enable')
    // What the first lets go of may hold more.
    for (let times = 0; times < 2; times += 1) await session.send('HeapProfiler.collectGarbage')
    return await read(session)
  } finally {
    await session.detach()
  }
}

async function read(session: CDPSession): Promise<PageSize> {
  const { metrics } = await session.send('Performance.getMetrics')
  const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN
  return { heapBytes: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') }
}
