/** Whether two addresses are one, whatever their case. Pure. */
export const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
