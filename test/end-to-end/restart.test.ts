import { expect, it } from 'vitest'
import { measureRestart } from '../lab/bench/restart.ts'

// `npm run bench restart` takes a thousand.
it('takes up hundreds of workflows in flight, and asks the KMS for nothing that was signed before', async () => {
  const figures = await measureRestart(300, () => {})
  expect(figures).toMatchObject({ workflows: 300, signedAgain: 0 })
})
