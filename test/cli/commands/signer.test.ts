import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signer } from '../../../src/cli/commands/signer.ts'
import { author } from '../../../src/cli/target/author.ts'
import { type Refusal, refuse } from '../../../src/errors.ts'
import { whoReleases } from '../../../src/guard/approval/approvers.ts'
import { createPersonKey, releaseText } from '../../../src/guard/approval/person-key.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { SIGNERS_KEY } from '../../../src/keeper/records/records.ts'
import { takeSignerOrders } from '../../../src/keeper/signer/orders.ts'
import { fileMail } from '../../../src/ops/mail.ts'
import { forgetOrder, type SignerOrder, writeSignerOrder } from '../../../src/ops/orders.ts'
import { createSigners, hashOfReasons } from '../../../src/pipeline/transactions/safe.ts'
import { newDirectory } from '../../support/directory.ts'
import { SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
let directory: string
let journal: Journal
let out = ''
const io = {
  out: (text: string) => {
    out += text
  },
  err: () => {},
  outIsTty: false,
  errIsTty: false,
  env: {},
}
beforeEach(() => {
  directory = newDirectory()
  journal = openSqliteJournal(directory)
  out = ''
})
afterEach(() => journal.close())
const run = (...args: readonly string[]) => signer([...args, '--directory', directory], io)

describe('rolekeeper signer show', () => {
  it('says how each signer stands, why one is SAFE and what leaves it, and which nonces are open', async () => {
    await journal.adoptNonce(CHAIN, SIGNER, 7)
    await journal.setValue(SIGNERS_KEY, JSON.stringify({ chainId: CHAIN, addresses: [SIGNER] }))
    const signers = await createSigners([SIGNER], {
      nowMs: () => 0,
      chainId: CHAIN,
      journal,
      alarm: () => {},
    })
    signers.safe(SIGNER, {
      check: 'three_strikes',
      message: 'Thrice.',
      seen: 'the log',
      toLeave: 'its end',
    })
    await journal.open(workflowOf('cleared'))
    await journal.claim(workflowOf('in_flight', { slots: [slotOf({ closing: 'quarantined' })] }), null)
    await journal.barrier()
    await run('show')
    expect(out).toMatchInlineSnapshot(`
      "0x5151515151515151515151515151515151515151  SAFE  next nonce 8
        three_strikes since 1970-01-01T00:00:00.000Z: Thrice.
          seen: the log
          to leave: its end; then \`rolekeeper signer release 0x5151515151515151515151515151515151515151 --yes\`.
        nonce 7  open  closing: quarantined
      "
    `)
    out = ''
    await run('show', '--json')
    expect(JSON.parse(out)).toMatchObject({ signer: SIGNER, nextNonce: 8, safe: [{ seen: 'the log' }] })
  })

  it('says so where no keeper has run yet', async () => {
    await run('show')
    expect(out).toBe('No signer yet.\n')
  })
})

describe('an order about a signer', () => {
  /** Run a command beside a keeper that answers its order so. */
  async function beside(
    reply: { readonly ok: true; readonly text: string } | Refusal,
    ...args: readonly string[]
  ) {
    const taken: SignerOrder[] = []
    const take = async (order: SignerOrder) => {
      taken.push(order)
      return reply
    }
    let taking: Promise<unknown> | undefined
    const keeper = setInterval(() => {
      taking ??= takeSignerOrders({ take }, fileMail(directory, journal)).finally(() => {
        taking = undefined
      })
    }, 20)
    try {
      await run(...args)
    } finally {
      clearInterval(keeper)
      await taking
    }
    return taken
  }

  it('is only looked at without --yes', async () => {
    const said = { ok: true, text: 'It would.' } as const
    expect(await beside(said, 'cancel', SIGNER, '7')).toEqual([
      { verb: 'cancel', signer: SIGNER, nonce: 7, yes: false },
    ])
    expect(out).toBe('It would.\nNothing was done; --yes does it.\n')
    out = ''
    expect(await beside(said, 'release', SIGNER, '--yes')).toEqual([
      { verb: 'release', signer: SIGNER, yes: true, by: { user: author().by } },
    ])
    expect(out).toBe('It would.\n')
  })

  it('releases by the key of who orders it, from the reasons that stand', async () => {
    await journal.setValue(SIGNERS_KEY, JSON.stringify({ chainId: CHAIN, addresses: [SIGNER] }))
    const signers = await createSigners([SIGNER], {
      nowMs: () => 0,
      chainId: CHAIN,
      journal,
      alarm: () => {},
    })
    signers.safe(SIGNER, { check: 'effects_differ', message: 'm', seen: 's', toLeave: 't' })
    await journal.barrier()
    const { publicKey, privatePem } = createPersonKey()
    const key = join(directory, 'anna.key')
    writeFileSync(key, JSON.stringify({ name: 'anna', privatePem }), { mode: 0o600 })
    const [order] = await beside({ ok: true, text: 'Done.' }, 'release', SIGNER, '--yes', '--key', key)
    const text = releaseText(CHAIN, SIGNER, hashOfReasons(signers.reasonsOf(SIGNER)))
    const known = { approvers: { anna: { key: publicKey } } }
    expect(whoReleases(text, order?.by === undefined ? [] : [order.by], known)).toEqual(['anna'])
  })

  it('is done once, also by a keeper that died between its reply and the end of the order', async () => {
    const id = '11111111-2222-4333-8444-555555555555'
    const taken: SignerOrder[] = []
    const take = async (order: SignerOrder) => {
      taken.push(order)
      return { ok: true, text: `It was done ${taken.length} times.` } as const
    }
    for (let starts = 0; starts < 2; starts += 1) {
      writeSignerOrder(directory, id, { verb: 'release', signer: SIGNER, yes: true })
      await takeSignerOrders({ take }, fileMail(directory, journal))
    }
    expect(taken).toHaveLength(1)
    expect(await journal.getValue(`order:${id}`)).toBe('{"said":"It was done 1 times."}')
  })

  it('is not done once its author took it back, also by who has read it before', async () => {
    const id = '11111111-2222-4333-8444-555555555555'
    writeSignerOrder(directory, id, { verb: 'release', signer: SIGNER, yes: true })
    const mail = fileMail(directory, journal)
    const read = await mail.signerOrders()
    forgetOrder(directory, id)
    const take = () => Promise.reject(new TypeError('it was done'))
    await takeSignerOrders({ take }, { ...mail, signerOrders: async () => read })
    expect(await journal.getValue(`order:${id}`)).toBeNull()
  })

  it('is not done any more where who took it ended long ago, and its author hears so', async () => {
    const id = '11111111-2222-4333-8444-666666666666'
    writeSignerOrder(directory, id, { verb: 'release', signer: SIGNER, yes: true })
    const mail = fileMail(directory, journal)
    const read = (await mail.signerOrders()).map((each) => ({ ...each, isLate: true as const }))
    const take = () => Promise.reject(new TypeError('it was done'))
    await takeSignerOrders({ take }, { ...mail, signerOrders: async () => read })
    expect(await journal.getValue(`order:${id}`)).toContain('"check":"order_late"')
  })

  it('says why the keeper refuses it', async () => {
    await expect(beside(refuse('not_safe', 'It is not.'), 'release', SIGNER)).rejects.toThrow(
      'not_safe: It is not.',
    )
  })

  it.each([
    [['release'], /which signer/],
    [['release', '0x12'], /No signer is "0x12"/],
    [['cancel', SIGNER, '-1x'], /no nonce|no option/],
    [['cancel', SIGNER], /which nonce/],
    [['show', SIGNER], /no place for "0x5151/],
    [['burn'], /"burn" is not a command of signer/],
    [[], /what to do/],
  ])('is refused as %j', async (args, said) => {
    await expect(run(...args)).rejects.toThrow(said)
  })
})
