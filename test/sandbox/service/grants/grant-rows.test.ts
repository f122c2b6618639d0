import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createGrantRows, type Grant } from '../../../../sandbox/service/grants/grant-rows.ts'
import { openStore } from '../../../../sandbox/service/store.ts'
import { newDirectory } from '../../../support/directory.ts'
import { BORROWER, LIQUIDATOR } from '../fixture.ts'

const admission = (applicationId: string, status: Grant['status']): Grant => ({
  id: `adm_${applicationId}`,
  kind: 'admission',
  applicationId,
  wallet: LIQUIDATOR,
  asset: null,
  amount: 0n,
  status,
  signed: [],
  sentBlock: 0n,
  requestedMs: 0,
})

it('finds an application’s own admission of a wallet, and that any of them admits it', () => {
  const directory = newDirectory()
  const store = openStore(join(directory, 'service.sqlite'), 'secret')
  const rows = createGrantRows(store)
  rows.insert(admission('first', 'indexed'))
  expect(rows.isAdmitted(LIQUIDATOR)).toBe(false)
  rows.update(admission('first', 'persisted_visible'))
  rows.insert(admission('second', 'requested'))
  expect(rows.admission(LIQUIDATOR, 'first')?.id).toBe('adm_first')
  expect(rows.admission(LIQUIDATOR, 'second')?.id).toBe('adm_second')
  expect(rows.admission(LIQUIDATOR, 'third')).toBe(null)
  expect([LIQUIDATOR, BORROWER].map(rows.isAdmitted)).toEqual([true, false])
  store.close()
  rmSync(directory, { recursive: true })
})
