import { putControl } from './control.ts'
import { eventually } from './eventually.ts'
import type { World } from './world.ts'

/** The sandbox's story, stopped for whoever needs prices to stand; it goes on once nobody does. */
export type StoryHold = { readonly take: () => Promise<void>; readonly release: () => Promise<void> }

type Holders = { readonly holds: Set<StoryHold>; last: Promise<void> }

const holders = new WeakMap<World, Holders>()

/** Hold the story. What it sent before is on the chain, and known to the service, once `take` resolves. */
export function createStoryHold(world: World): StoryHold {
  const all = holders.get(world) ?? { holds: new Set(), last: Promise.resolve() }
  holders.set(world, all)
  // One after the other: what is asked for last is what is.
  const follow = () => {
    all.last = all.last.then(() => setPaused(world, all.holds.size > 0))
    return all.last
  }
  const hold: StoryHold = {
    take: async () => {
      all.holds.add(hold)
      await follow()
      await nextBlock(world)
      await world.caughtUp()
    },
    release: () => {
      all.holds.delete(hold)
      return follow()
    },
  }
  return hold
}

async function setPaused({ info }: World, paused: boolean): Promise<void> {
  const answer = await putControl(info, 'story', { paused })
  if (!answer.ok) throw new Error(`the story answered ${answer.status} ${await answer.text()}`)
}

async function nextBlock({ chain: { client } }: World): Promise<void> {
  const head = () => client.getBlockNumber({ cacheTime: 0 })
  const before = await head()
  const next = async () => ((await head()) > before ? true : undefined)
  await eventually(next, `no block after ${before}`)
}
