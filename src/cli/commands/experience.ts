import { type Experience, withCase } from '../../../agents/protocol/experience.ts'
import { outcomesOf } from '../../accounts/outcomes.ts'
import { forget, type Page, readAccounts } from '../../journal/accounts.ts'
import { readJournal } from '../../journal/open.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { command, usageError } from '../command.ts'
import { PLACE, type Place, placeOf } from '../place.ts'

/** `rolekeeper experience`: what a role has learned, and how it forgets that. */
export const experience = command({
  name: 'experience',
  usage: 'show | forget ROLE [--config FILE | --directory DIR] [--json]',
  help: `Show what became of what roles said, by the accounts of their signers: how often each name was decided and won, and of
what was won how far it came from what was said, and what it brought, in parts of the price. Old cases fade. What a role says and
bids next is corrected by it, within the policy's bounds. Forget lets one role begin anew; the accounts stay.

  rolekeeper experience show
  rolekeeper experience forget rfq-bidder`,
  options: { ...PLACE, json: { help: 'print JSON, one object a line' } },
  argumentsMax: 2,
  run: async ({ json, ...given }, [what, role], io) => {
    if (what !== 'show' && what !== 'forget') {
      throw usageError('Say what to do.', 'write `show` or `forget ROLE`')
    }
    const place = await placeOf(given, io)
    const byRole = Map.groupBy(await pagesOf(place), (page) => page.role)
    if (what === 'forget') {
      const pages = byRole.get(role ?? '')
      if (role === undefined || pages === undefined) {
        const roles = [...byRole.keys()].join(', ')
        throw usageError(`There are no accounts of ${role ?? 'no role'}.`, `give one of: ${roles}`)
      }
      await forget(place.directory, role, Math.max(...pages.map(({ to }) => to.atMs)))
      io.out(`Forgotten: the ${role} begins anew within a minute. Its accounts stay.\n`)
      return 0
    }
    const rows = await Promise.all([...byRole].map(([each, pages]) => learned(each, pages, place)))
    if (json === true)
      io.out(
        rows
          .flat()
          .map((row) => `${JSON.stringify(row)}\n`)
          .join(''),
      )
    else io.out(rows.flat().length === 0 ? 'Nothing is decided yet.\n' : rows.flat().map(text).join(''))
    return 0
  },
})

async function pagesOf({ directory }: Place): Promise<readonly Page[]> {
  const accounts = readAccounts(directory)
  try {
    return await accounts.pages()
  } finally {
    await accounts.close()
  }
}

type Row = { readonly role: string } & Experience

async function learned(role: string, pages: readonly Page[], place: Place): Promise<readonly Row[]> {
  const accounts = readAccounts(place.directory)
  const fromMs = accounts.forgottenUntilMs(role)
  await accounts.close()
  const ids = new Set(pages.flatMap(({ lines }) => lines.flatMap(({ workflowId }) => workflowId ?? [])))
  const workflows = await readJournal(place, async (journal) => {
    const found = new Map<string, Workflow>()
    for (const id of ids) {
      const workflow = await journal.get(id)
      if (workflow !== null) found.set(id, workflow)
    }
    return found
  })
  const bySigner = Map.groupBy(pages, ({ signer }) => signer)
  return [...bySigner.values()]
    .flatMap((own) => outcomesOf(own, workflows))
    .filter(({ atMs }) => atMs > fromMs)
    .reduce<readonly Experience[]>(withCase, [])
    .map((each) => ({ role, ...each }))
}

function text({ role, of, decided, won, errors, gains }: Row): string {
  const mean = (sum: number) => (won === 0 ? '' : `${((100 * sum) / won).toFixed(2)} %`)
  const parts = [`${Math.round(decided)} decided`, `${Math.round(won)} won`]
  const means = won === 0 ? [] : [`came ${mean(errors)} beside what was said`, `brought ${mean(gains)}`]
  return `${role.padEnd(13)}  ${of.padEnd(24)}  ${[...parts, ...means].join(', ')}\n`
}
