import { h } from './dom.js'
import { act } from './link.js'

const dialog = () => document.getElementById('dialog')
let toastTimer = null

/** Say what was done, or why not. */
export function say(text, state = 'ok') {
  const toast = document.getElementById('said')
  toast.textContent = text
  toast.dataset.state = state
  clearTimeout(toastTimer)
  toastTimer = setTimeout(() => {
    toast.textContent = ''
  }, 8_000)
}

/**
 * Show what will happen, ask for a reason, and do it on a second word.
 * @param ask title, what happens line by line, the word of the button, and the deed without its reason.
 */
export function confirm({ title, happens, word, danger, deed }) {
  const reason = h('input', { id: 'reason', name: 'reason', maxlength: 200, autocomplete: 'off' })
  const wrong = h('p', { class: 'wrong', role: 'alert' })
  const yes = h('button', { type: 'submit', class: danger ? 'danger solid' : 'solid' }, word)
  const form = h(
    'form',
    {
      method: 'dialog',
      onsubmit: async (event) => {
        event.preventDefault()
        yes.disabled = true
        try {
          say(await act({ ...deed, reason: reason.value }))
          dialog().close()
        } catch (error) {
          wrong.textContent = error.message
          yes.disabled = false
        }
      },
    },
    // Read from its beginning: the field below would bring its own end into sight.
    h('h2', { id: 'dialog-title', tabindex: -1, autofocus: true }, title),
    h('div', { class: 'happens' }, happens),
    h('label', { for: 'reason' }, 'Reason, which is kept'),
    reason,
    wrong,
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: () => dialog().close() }, 'Cancel'),
      yes,
    ),
  )
  open(form)
}

/** Show something to read. */
export const read = (title, ...content) =>
  open(
    h(
      'form',
      { method: 'dialog' },
      h('h2', { id: 'dialog-title' }, title),
      ...content,
      h('div', { class: 'buttons' }, h('button', { class: 'solid' }, 'Close')),
    ),
  )

function open(content) {
  const box = dialog()
  if (box.open) box.close()
  box.replaceChildren(content)
  box.showModal()
}
