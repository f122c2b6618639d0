/** What is printed: columns, each cell as people read it, and each row as data. */
export type Table = {
  readonly columns: readonly string[]
  readonly rows: readonly {
    readonly cells: readonly string[]
    readonly data: Readonly<Record<string, string | readonly string[] | null>>
  }[]
}

/** Write a table: for people, as comma-separated values, or one JSON object a line. Pure. */
export function tableText(
  table: Table,
  { json, csv }: { readonly json?: true; readonly csv?: true },
): string {
  if (json === true) return table.rows.map((row) => `${JSON.stringify(row.data)}\n`).join('')
  return csv === true ? csvOf(table) : textOf(table)
}

/** Source: RFC 4180; groups of three digits are left out, so that a sheet reads numbers. */
function csvOf({ columns, rows }: Table): string {
  const cell = (text: string) => {
    const plain = /^[-+$]*[\d,]+(\.\d+)?$/.test(text) ? text.replaceAll(/[$,+]/g, '') : text
    return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
  }
  return [columns, ...rows.map(({ cells }) => cells)]
    .map((cells) => `${cells.map(cell).join(',')}\n`)
    .join('')
}

function textOf({ columns, rows }: Table): string {
  const all = [columns, ...rows.map(({ cells }) => cells)]
  const widths = columns.map((_, at) => Math.max(...all.map((cells) => cells[at]?.length ?? 0)))
  const isWord = (at: number) => at === 0 || rows.some(({ cells }) => /[a-z]/i.test(cells[at] ?? ''))
  return all
    .map((cells) => {
      const padded = cells.map((cell, at) =>
        isWord(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
      )
      return `${padded.join('  ').trimEnd()}\n`
    })
    .join('')
}
