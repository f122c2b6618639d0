/** A refusal: a value with a stable name and a sentence that states the value and the limit. Never thrown. */
export type Refusal = { readonly ok: false; readonly check: string; readonly message: string }

/** A check passed, with what it established, or a refusal. */
export type Checked<T> = ({ readonly ok: true } & T) | Refusal

/** Make a refusal. Pure. */
export const refuse = (check: string, message: string): Refusal => ({ ok: false, check, message })
