import { answerHeld, takeBack } from '../orders/answer-held.ts'
import { KEY } from '../orders/person-key.ts'
import { command, usageError } from '../parse/command.ts'
import { PLACE, placeText } from '../target/place.ts'

/** `rolekeeper reject`: the answer no. */
export const reject = command({
  name: 'reject',
  usage: 'ID [--take-back] [--key FILE [--yes]] [--config FILE | --directory DIR]',
  help: `Cancel what waits for a person. The same is not asked about again until its amounts differ by a tenth, or it is about
something else; --take-back takes the no back. ID may be shortened.

  rolekeeper reject 3f2a
  rolekeeper reject 3f2a --take-back`,
  options: {
    ...PLACE,
    ...KEY,
    'take-back': {
      help: 'take back the no to a workflow that was rejected, so that the same is asked again',
    },
  },
  argumentsMax: 1,
  run: async ({ key, yes, 'take-back': isTakenBack, ...given }, [id], io) => {
    if (id === undefined)
      throw usageError(
        'Say what to reject.',
        `write \`reject ID\`; what waits is listed by: rolekeeper approve${placeText(given)}`,
      )
    const answered = { id, keyFile: key, yes: yes === true }
    if (isTakenBack === true) return takeBack(given, answered, io)
    return answerHeld('reject', given, answered, io)
  },
})
