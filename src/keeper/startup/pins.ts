import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import { pinsOf } from '../../guard/policy/deployment.ts'
import { askPins, slotsOf } from '../../guard/reads/pins.ts'
import { createReads } from '../../guard/reads/views.ts'
import type { Deployment } from '../../service/contract/deployment.ts'

/**
 * Prove that every pinned contract runs the code that its pin says, also behind a proxy: nothing beside other code would be
 * signed anyway. Throws RolekeeperError `deployment.code_changed`, `deployment.implementation_changed` and
 * `deployment.proxy_not_pinned`, and `node.*` when no node answers.
 */
export async function provePins(
  nodes: Pick<Nodes, 'codeHashes' | 'simulate'>,
  deployment: Deployment,
): Promise<void> {
  const [first] = await pinDifferences(nodes, deployment)
  if (first !== undefined) throw first.error
}

/** Find each pinned contract that runs something else, with what {@link provePins} throws of it. Throws `node.*`. */
export async function pinDifferences(
  nodes: Pick<Nodes, 'codeHashes' | 'simulate'>,
  deployment: Deployment,
): Promise<readonly { readonly of: Address; readonly error: RolekeeperError }[]> {
  const pins = pinsOf(deployment)
  const reads = createReads()
  const asked = pins.map((pin) => ({ pin, ...askPins([pin], reads), own: slotsOf(pin.address) }))
  const [codeHashes, { before, words }] = await Promise.all([
    nodes.codeHashes(asked.flatMap(({ codeAt }) => codeAt)),
    nodes.simulate({
      pending: [],
      before: reads.calls,
      bundle: [],
      after: [],
      slots: asked.flatMap(({ own }) => own),
    }),
  ])
  reads.fill(before)
  let code = 0
  return asked.flatMap(({ pin: { address: of, proxy }, codeAt, check }, index) => {
    const shown = {
      codeHashes: codeHashes.slice(code, code + codeAt.length),
      words: words.slice(2 * index, 2 * index + 2),
    }
    code += codeAt.length
    const refusal = check(shown)
    if (refusal !== null)
      return { of, error: new RolekeeperError(`deployment.${refusal.check}`, refusal.message) }
    return proxy === undefined && shown.words.some((word) => word !== 0n)
      ? { of, error: proxyNotPinned(of) }
      : []
  })
}

const proxyNotPinned = (of: Address) =>
  new RolekeeperError(
    'deployment.proxy_not_pinned',
    `${of} is a proxy (EIP-1967), and what it runs is not pinned: it may be swapped while every pin holds.`,
    { fix: 'pin what it runs by `proxy` in its entry of the deployment.', facts: { address: of } },
  )
